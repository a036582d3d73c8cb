/** JSON merge patch, JSON patch and strategic merge patch. */
import { copy, isObject, type Json, type JsonObject } from './objects.ts';
import { StatusError } from './status-error.ts';

/** RFC 7386. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return copy(patch);
  const merged: JsonObject = isObject(target) ? copy(target) : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/**
 * Lists of the built-in kinds that are merged by a key, by the name of their field. Only the kinds this server has;
 * every other list is replaced.
 */
const mergeKeys: Record<string, string[]> = {
  containers: ['name'],
  volumes: ['name'],
  conditions: ['type'],
  addresses: ['type'],
  taints: ['key'],
  ownerReferences: ['uid'],
  podIPs: ['ip'],
};

/** Service ports are merged by number and protocol, container ports by containerPort, EndpointSlice ports not at all. */
function mergeKeyOf(field: string, items: readonly Json[]): string[] | undefined {
  if (field !== 'ports') return mergeKeys[field];
  const [first] = items;
  if (!isObject(first)) return undefined;
  if ('containerPort' in first) return ['containerPort', 'protocol'];
  return 'targetPort' in first || 'nodePort' in first ? ['port', 'protocol'] : undefined;
}

/** Strategic merge patch of a built-in kind, with the directives that kubectl sends. */
export function strategicMergePatch(target: Json | undefined, patch: Json, field = ''): Json {
  if (Array.isArray(patch)) return mergeList(Array.isArray(target) ? target : [], patch, field);
  if (!isObject(patch)) return copy(patch);
  if (patch.$patch === 'replace') {
    const { $patch: _, ...rest } = patch;
    return copy(rest);
  }
  const merged: JsonObject = isObject(target) ? copy(target) : {};
  const retained = Array.isArray(patch.$retainKeys) ? patch.$retainKeys.map(String) : null;
  for (const [key, value] of Object.entries(patch)) {
    if (key === '$retainKeys' || key.startsWith('$setElementOrder/')) continue;
    const deleted = /^\$deleteFromPrimitiveList\/(.+)$/.exec(key)?.[1];
    if (deleted !== undefined) {
      const current = merged[deleted];
      const gone = Array.isArray(value) ? value : [];
      if (Array.isArray(current)) merged[deleted] = current.filter((item) => !gone.includes(item));
    } else if (value === null) delete merged[key];
    else merged[key] = strategicMergePatch(merged[key], value, key);
  }
  if (retained === null) return merged;
  return Object.fromEntries(Object.entries(merged).filter(([key]) => retained.includes(key)));
}

function mergeList(target: readonly Json[], patch: readonly Json[], field: string): Json {
  const keys = mergeKeyOf(field, [...patch, ...target]);
  if (keys === undefined) return copy([...patch]);
  const identity = (item: Json): string =>
    JSON.stringify(keys.map((key) => (isObject(item) ? (item[key] ?? null) : null)));
  const merged = [...target];
  for (const item of patch) {
    const index = merged.findIndex((each) => identity(each) === identity(item));
    if (isObject(item) && item.$patch === 'delete') {
      if (index >= 0) merged.splice(index, 1);
    } else if (index >= 0) merged[index] = strategicMergePatch(merged[index], item);
    else merged.push(copy(item));
  }
  return merged;
}

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: Json;
}

function pointer(path: string): string[] {
  return path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** RFC 6902. @throws StatusError Invalid when a path or test does not hold */
export function jsonPatch(target: Json, operations: Json): Json {
  if (!Array.isArray(operations)) throw new StatusError('BadRequest', 'a JSON patch is a list of operations');
  const box: JsonObject = { root: copy(target) };
  const locate = (path: string): { parent: Json; key: string } => {
    const keys = ['root', ...pointer(path)];
    const key = keys.pop() ?? 'root';
    let parent: Json | undefined = box;
    for (const each of keys)
      parent = Array.isArray(parent) ? parent[Number(each)] : isObject(parent) ? parent[each] : undefined;
    if (parent === undefined || parent === null || typeof parent !== 'object') {
      throw new StatusError('Invalid', `the JSON patch's path ${path} does not exist`);
    }
    return { parent, key };
  };
  const read = (path: string): Json | undefined => {
    const { parent, key } = locate(path);
    return Array.isArray(parent) ? parent[Number(key)] : isObject(parent) ? parent[key] : undefined;
  };
  const remove = (path: string): void => {
    if (read(path) === undefined) throw new StatusError('Invalid', `the JSON patch's path ${path} does not exist`);
    const { parent, key } = locate(path);
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else if (isObject(parent)) delete parent[key];
  };
  const add = (path: string, value: Json): void => {
    const { parent, key } = locate(path);
    if (Array.isArray(parent)) parent.splice(key === '-' ? parent.length : Number(key), 0, value);
    else if (isObject(parent)) parent[key] = value;
  };
  for (const each of operations as unknown as Operation[]) {
    const value = copy(each.value ?? null);
    if (each.op === 'add') add(each.path, value);
    else if (each.op === 'remove') remove(each.path);
    else if (each.op === 'replace') {
      remove(each.path);
      add(each.path, value);
    } else if (each.op === 'test') {
      if (JSON.stringify(read(each.path) ?? null) !== JSON.stringify(value)) {
        throw new StatusError('Invalid', `the JSON patch's test of ${each.path} failed`);
      }
    } else if (each.op === 'move' || each.op === 'copy') {
      const moved = copy(read(each.from ?? '') ?? null);
      if (each.op === 'move') remove(each.from ?? '');
      add(each.path, moved);
    } else throw new StatusError('BadRequest', `unknown JSON patch operation "${each.op}"`);
  }
  return box.root ?? null;
}
