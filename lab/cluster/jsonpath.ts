/** The part of Kubernetes' JSONPath that printer columns use: fields, indices, `[*]`, and filters `[?(@.a=="b")]`. */
import { fieldAt, isObject } from './object.ts';

type Step =
  | { kind: 'field'; name: string }
  | { kind: 'index'; index: number }
  | { kind: 'all' }
  | { kind: 'filter'; path: string[]; operator: string; value: string };

/** A dot inside a field's name is escaped by a backslash, as in annotation keys. */
const token =
  /\.([A-Za-z_](?:[\w/-]|\\\.)*)|\.\*|\[(-?\d+)\]|\[\*\]|\['((?:[^'\\]|\\.)+)'\]|\[\?\(@((?:\.[\w-]+)+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([\w.-]+))\)\]/y;

/** Throws an Error naming the place that does not parse. */
export function parseJsonPath(text: string): Step[] {
  const steps: Step[] = [];
  let at = 0;
  while (at < text.length) {
    token.lastIndex = at;
    const match = token.exec(text);
    if (match === null) throw new Error(`JSON path ${JSON.stringify(text)} does not parse at character ${at + 1}`);
    const [, name, index, quotedName, path, operator, double, single, bare] = match;
    if (name !== undefined) steps.push({ kind: 'field', name: name.replaceAll('\\.', '.') });
    else if (index !== undefined) steps.push({ kind: 'index', index: Number(index) });
    else if (quotedName !== undefined) steps.push({ kind: 'field', name: quotedName });
    else if (path !== undefined) {
      const value = double ?? single ?? bare ?? '';
      steps.push({ kind: 'filter', path: path.slice(1).split('.'), operator: operator ?? '==', value });
    } else steps.push({ kind: 'all' });
    at = token.lastIndex;
  }
  return steps;
}

/** Everything the path reaches in `value`, in order. */
export function evaluateJsonPath(steps: readonly Step[], value: unknown): unknown[] {
  let found = [value];
  for (const step of steps) found = found.flatMap((item) => take(step, item)).filter((item) => item !== undefined);
  return found;
}

function take(step: Step, item: unknown): unknown[] {
  switch (step.kind) {
    case 'field':
      return isObject(item) ? [item[step.name]] : [];
    case 'index':
      return Array.isArray(item) ? [item.at(step.index)] : [];
    case 'all':
      return Array.isArray(item) ? item : isObject(item) ? Object.values(item) : [];
    case 'filter':
      if (!Array.isArray(item)) return [];
      return item.filter((entry) => {
        const field = fieldAt(entry, ...step.path);
        const equal = field !== undefined && String(field) === step.value;
        return step.operator === '==' ? equal : !equal;
      });
  }
}
