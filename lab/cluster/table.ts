/** Objects as the tables that `kubectl get` prints. */
import { isObject, type Json, type KubernetesObject, text } from './objects.ts';
import type { PrinterColumn, Resource } from './resources.ts';

const nameColumn: PrinterColumn = { name: 'Name', type: 'string', jsonPath: '.metadata.name' };
const ageColumn: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** What the built-in kinds of this server show. */
const builtInColumns: Record<string, PrinterColumn[]> = {
  nodes: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Internal-IP', type: 'string', jsonPath: '.status.addresses[?(@.type=="InternalIP")].address' },
    ageColumn,
  ],
  namespaces: [ageColumn],
  pods: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'IP', type: 'string', jsonPath: '.status.podIP' },
    { name: 'Node', type: 'string', jsonPath: '.spec.nodeName' },
    ageColumn,
  ],
  services: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Cluster-IP', type: 'string', jsonPath: '.spec.clusterIP' },
    ageColumn,
  ],
  endpointslices: [
    { name: 'AddressType', type: 'string', jsonPath: '.addressType' },
    { name: 'Ports', type: 'string', jsonPath: '.ports[*].port' },
    { name: 'Endpoints', type: 'string', jsonPath: '.endpoints[*].addresses[*]' },
    ageColumn,
  ],
  events: [
    { name: 'Last Seen', type: 'date', jsonPath: '.lastTimestamp' },
    { name: 'Type', type: 'string', jsonPath: '.type' },
    { name: 'Reason', type: 'string', jsonPath: '.reason' },
    { name: 'Object', type: 'string', jsonPath: '.involvedObject.name' },
    { name: 'Message', type: 'string', jsonPath: '.message' },
  ],
};

/**
 * The part of JSONPath that printer columns use: fields, `[*]`, `[n]` and `[?(@.field=="value")]`.
 * @returns every match
 */
export function jsonPath(value: Json, path: string): Json[] {
  const steps = path.match(/\.[^.[\]]+|\[[^\]]*\]/g) ?? [];
  return steps.reduce<Json[]>((values, step) => values.flatMap((each): Json[] => take(each, step)), [value]);
}

function take(value: Json, step: string): Json[] {
  const filter = /^\[\?\(@\.([\w.]+)\s*==\s*["'](.*)["']\)\]$/.exec(step);
  if (filter !== null) {
    return Array.isArray(value) ? value.filter((item) => isObject(item) && item[filter[1] ?? ''] === filter[2]) : [];
  }
  if (step === '[*]') return Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  const index = /^\[(\d+)\]$/.exec(step)?.[1];
  if (index !== undefined) return Array.isArray(value) ? value.slice(Number(index), Number(index) + 1) : [];
  const found = isObject(value) ? value[step.slice(1)] : undefined;
  return found === undefined ? [] : [found];
}

/** Elapsed time as kubectl writes it: 5s, 3m12s, 4h, 2d. */
export function age(from: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(from)) / 1000));
  if (Number.isNaN(seconds)) return '<unknown>';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${seconds % 60 === 0 ? '' : `${seconds % 60}s`}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

function cell(object: KubernetesObject, column: PrinterColumn, now: number): Json {
  // A printer column shows the first match only, as the real server does.
  const [value] = jsonPath(object, column.jsonPath);
  if (value === undefined || value === null) return column.type === 'date' ? '<unknown>' : null;
  if (column.type === 'date') return age(text(value), now);
  return column.type === 'integer' || column.type === 'number' || column.type === 'boolean' ? value : text(value);
}

export function table(
  resource: Resource,
  objects: readonly KubernetesObject[],
  version: string,
  includeObject: string,
): Record<string, unknown> {
  const own = resource.columns ?? builtInColumns[resource.plural] ?? [ageColumn];
  const columns = [nameColumn, ...own];
  const now = Date.now();
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: version },
    columnDefinitions: columns.map(({ name, type, priority = 0 }) => ({
      name,
      type,
      format: name === 'Name' ? 'name' : '',
      description: '',
      priority,
    })),
    rows: objects.map((object) => ({
      cells: columns.map((column) => cell(object, column, now)),
      object:
        includeObject === 'Object'
          ? object
          : { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
    })),
  };
}
