/** A strict XML parser for this folder's tests: junit.xml and the SVGs must be readable by anyone's. */
import { SaxesParser } from 'saxes';

export interface XmlElement {
  name: string;
  attributes: Record<string, string>;
  children: XmlElement[];
  /** All text below, in order. */
  text: string;
}

/** @throws Error with line and column where the text is not well-formed XML 1.0. */
export function parseXml(xml: string): XmlElement {
  const root: XmlElement = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name, attributes }) => {
    const element: XmlElement = { name, attributes: { ...attributes }, children: [], text: '' };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => open.pop());
  parser.on('text', (text) => {
    for (const element of open) element.text += text;
  });
  parser.write(xml).close();
  const [document] = root.children;
  if (!document) throw new Error('no element in the document');
  return document;
}

/** All elements of that name at any depth. */
export function elementsNamed(element: XmlElement, name: string): XmlElement[] {
  return element.children.flatMap((child) => [...(child.name === name ? [child] : []), ...elementsNamed(child, name)]);
}
