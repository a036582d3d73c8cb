/** Manifests: YAML files of one or more documents, each an object for the API. */
import { readFileSync } from 'node:fs';
import { LineCounter, parseAllDocuments } from 'yaml';
import { isObject, type KubeObject } from './object.ts';

export interface Manifest {
  object: KubeObject;
  file: string;
  /** Line where the document begins, from 1. */
  line: number;
  /** Number of the document in its file, from 1. */
  document: number;
}

/** Throws an Error naming file, line, document and what is wrong. Empty documents are passed over; a List is taken apart. */
export function parseManifests(text: string, file: string): Manifest[] {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((source, index): Manifest[] => {
    const document = index + 1;
    const [fault] = source.errors;
    if (fault !== undefined) {
      const { line, col } = lineCounter.linePos(fault.pos[0]);
      throw new Error(`${file}:${line}:${col}: document ${document}: ${fault.message}`);
    }
    const start = source.contents?.range?.[0] ?? 0;
    const { line } = lineCounter.linePos(start);
    const value: unknown = source.toJS();
    if (value === null || value === undefined) return [];
    const where = `${file}:${line}: document ${document}`;
    if (isObject(value) && value.kind === 'List' && Array.isArray(value.items)) {
      return value.items.map((item) => ({ object: checked(item, where), file, line, document }));
    }
    return [{ object: checked(value, where), file, line, document }];
  });
}

function checked(value: unknown, where: string): KubeObject {
  if (!isObject(value)) throw new Error(`${where}: wanted an object, was ${JSON.stringify(value)}`);
  for (const field of ['apiVersion', 'kind']) {
    if (typeof value[field] !== 'string' || value[field] === '') {
      throw new Error(`${where}: ${field}: wanted a text, was ${JSON.stringify(value[field]) ?? 'nothing'}`);
    }
  }
  const { metadata } = value;
  const name = isObject(metadata) ? (metadata.name ?? metadata.generateName) : undefined;
  if (typeof name !== 'string' || name === '') {
    throw new Error(`${where}: metadata.name: wanted a text, was ${JSON.stringify(name) ?? 'nothing'}`);
  }
  return value as KubeObject;
}

/** Reads one file. Throws an Error naming the file, and line and document where it is its contents that are wrong. */
export function readManifests(file: string): Manifest[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${file}: cannot be read: ${(error as Error).message}`, { cause: error });
  }
  return parseManifests(text, file);
}
