/** The columns of `kubectl get` for the built-in kinds, and those that a CRD declares. */
import { evaluateJsonPath, parseJsonPath } from './jsonpath.ts';
import { fieldAt, isObject, type KubeObject, listAt, textAt } from './object.ts';
import type { Column } from './resource.ts';

/** Time since an RFC 3339 timestamp as kubectl writes it: 45s, 3m20s, 5h, 2d; `<unknown>` for none. */
export function age(since: unknown, now: number): string {
  const start = typeof since === 'string' ? Date.parse(since) : Number.NaN;
  if (Number.isNaN(start)) return '<unknown>';
  const seconds = Math.floor((now - start) / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  if (years < 8) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`;
  return `${years}y`;
}

type Cell = Column['cell'];

function column(name: string, cell: Cell, priority = 0, format?: string): Column {
  return { name, type: 'string', priority, cell, ...(format === undefined ? {} : { format }) };
}

const nameColumn: Column = column('Name', (object) => object.metadata.name, 0, 'name');
const ageColumn: Column = column('Age', (object, now) => age(object.metadata.creationTimestamp, now));
export const plainColumns: readonly Column[] = [
  nameColumn,
  column('Created At', (object) => object.metadata.creationTimestamp ?? ''),
];

function joined(items: unknown[], limit = Number.POSITIVE_INFINITY): string {
  if (items.length === 0) return '<none>';
  const shown = items.slice(0, limit).join(',');
  return items.length > limit ? `${shown} + ${items.length - limit} more...` : shown;
}

function addressOf(node: KubeObject, type: string): string {
  const found = listAt(node, 'status', 'addresses').find((entry) => textAt(entry, 'type') === type);
  return textAt(found, 'address') || '<none>';
}

function nodeStatus(node: KubeObject): string {
  const ready = listAt(node, 'status', 'conditions').find((entry) => textAt(entry, 'type') === 'Ready');
  const word = ready === undefined ? 'Unknown' : textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady';
  return fieldAt(node, 'spec', 'unschedulable') === true ? `${word},SchedulingDisabled` : word;
}

function nodeRoles(node: KubeObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const labels = Object.keys(node.metadata.labels ?? {});
  return joined(labels.filter((label) => label.startsWith(prefix)).map((label) => label.slice(prefix.length)));
}

const nodeInfo =
  (field: string): Cell =>
  (node) =>
    textAt(node, 'status', 'nodeInfo', field) || '<unknown>';

function podStatus(pod: KubeObject): string {
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return textAt(pod, 'status', 'reason') || textAt(pod, 'status', 'phase') || 'Unknown';
}

/** Ready containers of all; where no kubelet wrote container statuses, the pod's own Ready condition speaks for all. */
function podReady(pod: KubeObject): string {
  const total = listAt(pod, 'spec', 'containers').length;
  const statuses = listAt(pod, 'status', 'containerStatuses');
  const conditions = listAt(pod, 'status', 'conditions');
  const isReady = conditions.some((entry) => textAt(entry, 'type') === 'Ready' && textAt(entry, 'status') === 'True');
  const ready = statuses.filter((entry) => fieldAt(entry, 'ready') === true).length;
  return `${statuses.length > 0 ? ready : isReady ? total : 0}/${total}`;
}

function restarts(pod: KubeObject): string {
  const counts = listAt(pod, 'status', 'containerStatuses').map((entry) => Number(fieldAt(entry, 'restartCount') ?? 0));
  return String(counts.reduce((sum, count) => sum + count, 0));
}

function servicePorts(service: KubeObject): string {
  const ports = listAt(service, 'spec', 'ports').map((entry) => {
    const nodePort = textAt(entry, 'nodePort');
    return `${textAt(entry, 'port')}${nodePort === '' ? '' : `:${nodePort}`}/${textAt(entry, 'protocol') || 'TCP'}`;
  });
  return joined(ports);
}

function externalAddress(service: KubeObject): string {
  const given = listAt(service, 'spec', 'externalIPs');
  const ingress = listAt(service, 'status', 'loadBalancer', 'ingress').map(
    (entry) => textAt(entry, 'ip') || textAt(entry, 'hostname'),
  );
  if (textAt(service, 'spec', 'type') === 'LoadBalancer' && ingress.length + given.length === 0) return '<pending>';
  return textAt(service, 'spec', 'externalName') || joined([...ingress, ...given]);
}

function selectorText(object: KubeObject): string {
  const selector = fieldAt(object, 'spec', 'selector');
  return joined(isObject(selector) ? Object.entries(selector).map(([key, value]) => `${key}=${value}`) : []);
}

function slicePorts(slice: KubeObject): string {
  const ports = listAt(slice, 'ports').map((entry) => textAt(entry, 'port') || '*');
  return ports.length === 0 ? '<unset>' : joined(ports, 3);
}

function sliceEndpoints(slice: KubeObject): string {
  const addresses = listAt(slice, 'endpoints').flatMap((entry) => listAt(entry, 'addresses'));
  return addresses.length === 0 ? '<unset>' : joined(addresses, 3);
}

function eventSource(event: KubeObject): string {
  return [textAt(event, 'source', 'component'), textAt(event, 'source', 'host')]
    .filter((part) => part !== '')
    .join(', ');
}

/** When an event was last seen: an event of the new kind has only its own time. */
function lastSeen(event: KubeObject): unknown {
  return fieldAt(event, 'series', 'lastObservedTime') ?? fieldAt(event, 'lastTimestamp') ?? fieldAt(event, 'eventTime');
}

const wide = 1;

/** By `plural.group`. */
export const builtinColumns: Record<string, readonly Column[]> = {
  nodes: [
    nameColumn,
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    ageColumn,
    column('Version', nodeInfo('kubeletVersion')),
    column('Internal-IP', (node) => addressOf(node, 'InternalIP'), wide),
    column('External-IP', (node) => addressOf(node, 'ExternalIP'), wide),
    column('OS-Image', nodeInfo('osImage'), wide),
    column('Kernel-Version', nodeInfo('kernelVersion'), wide),
    column('Container-Runtime', nodeInfo('containerRuntimeVersion'), wide),
  ],
  pods: [
    nameColumn,
    column('Ready', podReady),
    column('Status', podStatus),
    column('Restarts', restarts),
    ageColumn,
    column('IP', (pod) => textAt(pod, 'status', 'podIP') || '<none>', wide),
    column('Node', (pod) => textAt(pod, 'spec', 'nodeName') || '<none>', wide),
    column('Nominated Node', (pod) => textAt(pod, 'status', 'nominatedNodeName') || '<none>', wide),
    column('Readiness Gates', () => '<none>', wide),
  ],
  namespaces: [nameColumn, column('Status', (namespace) => textAt(namespace, 'status', 'phase')), ageColumn],
  services: [
    nameColumn,
    column('Type', (service) => textAt(service, 'spec', 'type')),
    column('Cluster-IP', (service) => textAt(service, 'spec', 'clusterIP') || '<none>'),
    column('External-IP', externalAddress),
    column('Port(s)', servicePorts),
    ageColumn,
    column('Selector', selectorText, wide),
  ],
  configmaps: [
    nameColumn,
    column('Data', (map) => {
      const fields = { ...(fieldAt(map, 'data') as object), ...(fieldAt(map, 'binaryData') as object) };
      return String(Object.keys(fields).length);
    }),
    ageColumn,
  ],
  events: [
    column('Last Seen', (event, now) => age(lastSeen(event), now)),
    column('Type', (event) => textAt(event, 'type')),
    column('Reason', (event) => textAt(event, 'reason')),
    column(
      'Object',
      (event) => `${textAt(event, 'involvedObject', 'kind').toLowerCase()}/${textAt(event, 'involvedObject', 'name')}`,
    ),
    column('Subobject', (event) => textAt(event, 'involvedObject', 'fieldPath'), wide),
    column('Source', eventSource, wide),
    column('Message', (event) => textAt(event, 'message').trim()),
    column(
      'First Seen',
      (event, now) => age(fieldAt(event, 'firstTimestamp') ?? fieldAt(event, 'eventTime'), now),
      wide,
    ),
    column('Count', (event) => textAt(event, 'count') || '1', wide),
    column('Name', (event) => event.metadata.name, wide, 'name'),
  ],
  'endpointslices.discovery.k8s.io': [
    nameColumn,
    column('AddressType', (slice) => textAt(slice, 'addressType')),
    column('Ports', slicePorts),
    column('Endpoints', sliceEndpoints),
    ageColumn,
  ],
  'leases.coordination.k8s.io': [
    nameColumn,
    column('Holder', (lease) => textAt(lease, 'spec', 'holderIdentity')),
    ageColumn,
  ],
};

export interface DeclaredColumn {
  name: string;
  type: Column['type'];
  jsonPath: string;
  description?: string;
  format?: string;
  priority?: number;
}

/**
 * additionalPrinterColumns of a CRD, behind the name; without any, the age. Of several values that a path reaches only
 * the first shows, as in the real server. Throws an Error for a path that does not parse.
 */
export function declaredColumns(columns: readonly DeclaredColumn[] | undefined): Column[] {
  if (columns === undefined || columns.length === 0) return [nameColumn, { ...ageColumn, type: 'date' }];
  const declared = columns.map((source): Column => {
    const steps = parseJsonPath(source.jsonPath);
    return {
      name: source.name,
      type: source.type,
      priority: source.priority ?? 0,
      ...(source.format === undefined ? {} : { format: source.format }),
      ...(source.description === undefined ? {} : { description: source.description }),
      cell: (object, now) => declaredCell(source.type, evaluateJsonPath(steps, object)[0], now),
    };
  });
  return [nameColumn, ...declared];
}

function declaredCell(type: Column['type'], value: unknown, now: number): string | number | boolean | null {
  if (value === undefined || value === null) return null;
  if (type === 'date') return age(value, now);
  if (type === 'string') return typeof value === 'string' ? value : JSON.stringify(value);
  if ((type === 'integer' || type === 'number') && typeof value === 'number') return value;
  if (type === 'boolean' && typeof value === 'boolean') return value;
  return null;
}
