/** JSON merge patch (RFC 7386) and JSON patch (RFC 6902). Strategic merge patch is in strategic-merge.ts. */
import { copy, deepEqual, isObject } from './object.ts';
import { ApiError, badRequest } from './status.ts';

/** A new value: `target` with `patch` merged in. Null removes a field, a list replaces a list. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return copy(patch);
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

function steps(pointer: string): string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) throw badRequest(`JSON patch: path ${JSON.stringify(pointer)} must begin with '/'`);
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function missing(operation: Operation): ApiError {
  const message = `the server rejected our request due to an error in our request: ${operation.op} operation does not apply: doc is missing path: ${operation.path}: missing value`;
  return new ApiError(422, 'Invalid', message);
}

function read(document: unknown, path: readonly string[], operation: Operation): unknown {
  let current = document;
  for (const step of path) {
    if (Array.isArray(current) && Number(step) < current.length) current = current[Number(step)];
    else if (isObject(current) && step in current) current = current[step];
    else throw missing(operation);
  }
  return current;
}

function write(document: unknown, path: readonly string[], operation: Operation, value: unknown): unknown {
  const last = path.at(-1);
  if (last === undefined) return value;
  const parent = read(document, path.slice(0, -1), operation);
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : Number(last);
    if (!Number.isInteger(index) || index < 0 || index > parent.length) throw missing(operation);
    parent.splice(index, operation.op === 'replace' ? 1 : 0, value);
  } else if (isObject(parent)) parent[last] = value;
  else throw missing(operation);
  return document;
}

function remove(document: unknown, path: readonly string[], operation: Operation): void {
  const last = path.at(-1);
  if (last === undefined) throw badRequest('JSON patch: the whole object cannot be removed');
  read(document, path, operation);
  const parent = read(document, path.slice(0, -1), operation);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (isObject(parent)) delete parent[last];
}

/** A new value: the operations applied in order; 422 where one does not apply or a test fails. */
export function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('a JSON patch is a list of operations');
  let document = copy(target);
  for (const operation of operations as Operation[]) {
    const path = steps(operation.path);
    switch (operation.op) {
      case 'add':
        document = write(document, path, operation, copy(operation.value));
        break;
      case 'replace':
        read(document, path, operation);
        document = write(document, path, operation, copy(operation.value));
        break;
      case 'remove':
        remove(document, path, operation);
        break;
      case 'move':
      case 'copy': {
        const from = steps(operation.from ?? '');
        const value = copy(read(document, from, operation));
        if (operation.op === 'move') remove(document, from, operation);
        document = write(document, path, operation, value);
        break;
      }
      case 'test':
        if (!deepEqual(read(document, path, operation), operation.value)) {
          throw new ApiError(422, 'Invalid', `testing value ${operation.path} failed: test failed`);
        }
        break;
      default:
        throw badRequest(`JSON patch: unexpected kind of operation: ${JSON.stringify(operation.op)}`);
    }
  }
  return document;
}
