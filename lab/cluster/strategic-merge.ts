/**
 * Strategic merge patch for the built-in kinds: lists of objects are merged by their merge key, some lists of plain
 * values as sets, with the directives kubectl writes ($patch, $retainKeys, $setElementOrder/..., $deleteFromPrimitiveList/...).
 */
import { copy, deepEqual, isObject } from './object.ts';
import { badRequest } from './status.ts';

/** Merge key of a list by its path in the object, as the Go types' `patchMergeKey` tags say; `*` is any item. */
const mergeKeys: Record<string, Record<string, string>> = {
  '*': { 'metadata.ownerReferences': 'uid', 'status.conditions': 'type' },
  Node: { 'status.addresses': 'type', 'spec.taints': '' },
  Service: { 'spec.ports': 'port' },
  Pod: {
    'spec.volumes': 'name',
    'spec.containers': 'name',
    'spec.initContainers': 'name',
    'spec.ephemeralContainers': 'name',
    'spec.imagePullSecrets': 'name',
    'spec.hostAliases': 'ip',
    'spec.topologySpreadConstraints': 'topologyKey',
    'spec.containers.*.ports': 'containerPort',
    'spec.containers.*.env': 'name',
    'spec.containers.*.volumeMounts': 'mountPath',
    'spec.containers.*.volumeDevices': 'devicePath',
    'spec.initContainers.*.ports': 'containerPort',
    'spec.initContainers.*.env': 'name',
    'spec.initContainers.*.volumeMounts': 'mountPath',
    'status.podIPs': 'ip',
    'status.hostIPs': 'ip',
  },
};

/** Lists of plain values that merge as sets. */
const mergedSets: Record<string, readonly string[]> = {
  '*': ['metadata.finalizers'],
  Node: ['spec.podCIDRs'],
};

interface Context {
  kind: string;
  path: string;
}

function mergeKey({ kind, path }: Context): string | undefined {
  return mergeKeys[kind]?.[path] || mergeKeys['*']?.[path];
}

function mergesAsSet({ kind, path }: Context): boolean {
  return (mergedSets[kind]?.includes(path) ?? false) || (mergedSets['*']?.includes(path) ?? false);
}

function below(context: Context, key: string): Context {
  return { kind: context.kind, path: context.path === '' ? key : `${context.path}.${key}` };
}

/** A new object: `target` with `patch` merged in by the rules of `kind`. Throws 400 for a directive that is not one. */
export function strategicMerge(kind: string, target: unknown, patch: unknown): unknown {
  return mergeValue({ kind, path: '' }, target, patch);
}

function mergeValue(context: Context, target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return copy(patch);
  const { $patch: directive, $retainKeys: retained, ...fields } = patch;
  if (directive === 'replace') return copy(fields);
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge') {
    throw badRequest(`unknown patch directive ${JSON.stringify(directive)} at ${context.path || 'the object itself'}`);
  }
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  if (Array.isArray(retained)) {
    for (const key of Object.keys(result)) if (!retained.includes(key)) delete result[key];
  }
  for (const [key, value] of Object.entries(fields)) {
    if (key.startsWith('$')) continue;
    if (value === null) delete result[key];
    else if (Array.isArray(value)) {
      const order = fields[`$setElementOrder/${key}`];
      result[key] = mergeList(below(context, key), result[key], value, Array.isArray(order) ? order : undefined);
    } else result[key] = mergeValue(below(context, key), result[key], value);
  }
  for (const [key, value] of Object.entries(fields)) {
    const deleted = /^\$deleteFromPrimitiveList\/(.+)$/.exec(key)?.[1];
    const current = deleted === undefined ? undefined : result[deleted];
    if (deleted !== undefined && Array.isArray(current) && Array.isArray(value)) {
      result[deleted] = current.filter((item) => !value.includes(item));
    }
    const ordered = /^\$setElementOrder\/(.+)$/.exec(key)?.[1];
    // An order without the list itself only sorts what is there.
    if (ordered !== undefined && fields[ordered] === undefined && Array.isArray(value)) {
      const list = result[ordered];
      if (Array.isArray(list)) result[ordered] = inOrder(below(context, ordered), list, value);
    }
  }
  return result;
}

function mergeList(context: Context, target: unknown, patch: unknown[], order: unknown[] | undefined): unknown[] {
  const current: unknown[] = Array.isArray(target) ? target : [];
  const key = mergeKey(context);
  if (key === undefined) {
    if (!mergesAsSet(context)) return copy(patch);
    const merged = [...current, ...patch.filter((item) => !current.includes(item))];
    return order === undefined ? merged : inOrder(context, merged, order);
  }
  if (patch.some((item) => isObject(item) && item.$patch === 'replace')) {
    return copy(patch.filter((item) => !(isObject(item) && item.$patch === 'replace')));
  }
  let result = [...current];
  for (const item of patch) {
    if (!isObject(item)) throw badRequest(`${context.path}: a list merged by ${key} holds objects only`);
    const identity = item[key];
    if (identity === undefined)
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    const index = result.findIndex((candidate) => isObject(candidate) && deepEqual(candidate[key], identity));
    if (item.$patch === 'delete') result = result.filter((_, at) => at !== index);
    else {
      const merged = mergeValue(below(context, '*'), index < 0 ? {} : result[index], item);
      if (index < 0) result.push(merged);
      else result[index] = merged;
    }
  }
  return order === undefined ? result : inOrder(context, result, order);
}

/** Items named in `order` take that order; the others stay behind them as they were. */
function inOrder(context: Context, list: unknown[], order: unknown[]): unknown[] {
  const key = mergeKey(context);
  const identity = (item: unknown): unknown => (key !== undefined && isObject(item) ? item[key] : item);
  const rank = (item: unknown): number => {
    const index = order.findIndex((entry) => deepEqual(identity(entry), identity(item)));
    return index < 0 ? order.length : index;
  };
  return list
    .map((item, index) => ({ item, index }))
    .sort((a, b) => rank(a.item) - rank(b.item) || a.index - b.index)
    .map(({ item }) => item);
}
