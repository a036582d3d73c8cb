/** Label and field selectors as they come in a query string. */
import { fieldAt, type KubeObject } from './object.ts';
import { badRequest } from './status.ts';

export type Predicate = (object: KubeObject) => boolean;

const requirement = /^(?:(!)\s*)?([A-Za-z0-9][-A-Za-z0-9_./]*)\s*(?:(==|=|!=|>|<)\s*(\S*)|(in|notin)\s*\(([^)]*)\))?$/;

/** Splits at commas outside parentheses. */
function split(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '(') depth++;
    else if (character === ')') depth--;
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  parts.push(text.slice(start));
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/**
 * Equality based (`a=b`, `a==b`, `a!=b`) and set based (`a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`) requirements,
 * all of which must hold. Throws 400 naming the part that does not parse.
 */
export function labelSelector(text: string): Predicate {
  const predicates = split(text).map((part): ((labels: Record<string, string>) => boolean) => {
    const match = requirement.exec(part);
    const [, not, key, operator, value, setOperator, values] = match ?? [];
    if (match === null || key === undefined || (not !== undefined && (operator ?? setOperator) !== undefined)) {
      throw badRequest(
        `unable to parse requirement: found '${part}', expected: key, !key, key=value or key in (values)`,
      );
    }
    const wanted = (values ?? '').split(',').map((item) => item.trim());
    if (not !== undefined) return (labels) => !(key in labels);
    if (setOperator === 'in') return (labels) => wanted.includes(labels[key] ?? '\0');
    if (setOperator === 'notin') return (labels) => !wanted.includes(labels[key] ?? '\0');
    if (operator === '!=') return (labels) => labels[key] !== value;
    if (operator === '>') return (labels) => key in labels && Number(labels[key]) > Number(value);
    if (operator === '<') return (labels) => key in labels && Number(labels[key]) < Number(value);
    if (operator !== undefined) return (labels) => labels[key] === value;
    return (labels) => key in labels;
  });
  return (object) => predicates.every((predicate) => predicate(object.metadata.labels ?? {}));
}

/**
 * `field=value`, `field==value`, `field!=value`. `supported` are the fields this resource can be selected by beside
 * metadata.name and metadata.namespace; any other is refused, as the real server refuses it.
 */
export function fieldSelector(text: string, supported: readonly string[], resource: string): Predicate {
  const terms = split(text).map((part) => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(part);
    const [, path, operator, value] = match ?? [];
    if (path === undefined || value === undefined) throw badRequest(`invalid field selector: "${part}"`);
    if (!['metadata.name', 'metadata.namespace', ...supported].includes(path)) {
      throw badRequest(`field label not supported: ${path} (resource ${resource})`);
    }
    return { path: path.split('.'), wanted: operator !== '!=', value };
  });
  return (object) =>
    terms.every(({ path, wanted, value }) => {
      const found = fieldAt(object, ...path) ?? '';
      return (String(found) === value) === wanted;
    });
}
