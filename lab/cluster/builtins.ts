/** The kinds every cluster has: enough of each for a lab, with the defaults the real server fills in. */
import { builtinColumns, plainColumns } from './columns.ts';
import { checkEvent, eventFromCore, eventToCore } from './events.ts';
import { fieldAt, isObject, type KubeObject, listAt, textAt } from './object.ts';
import { allVerbs, type Resource } from './resource.ts';
import type { Cause } from './status.ts';

type Described = Pick<Resource, 'group' | 'version' | 'plural' | 'kind' | 'namespaced'> & Partial<Resource>;

function builtin(described: Described): Resource {
  const { group, plural } = described;
  const collection = group === '' ? plural : `${plural}.${group}`;
  return {
    singular: described.kind.toLowerCase(),
    listKind: `${described.kind}List`,
    shortNames: [],
    categories: [],
    verbs: allVerbs,
    hasStatus: false,
    keepsStatusOnCreate: false,
    collection,
    selectableFields: [],
    columns: builtinColumns[collection] ?? plainColumns,
    strategicMerge: true,
    counted: false,
    unconditionalUpdate: true,
    ...described,
  };
}

function spec(object: KubeObject): Record<string, unknown> {
  if (!isObject(object.spec)) object.spec = {};
  return object.spec as Record<string, unknown>;
}

/** A kubelet's part is the lab's to write; the server only says what no kubelet has seen yet. */
function preparePod(pod: KubeObject): void {
  const fields = spec(pod);
  fields.restartPolicy ??= 'Always';
  fields.dnsPolicy ??= 'ClusterFirst';
  fields.terminationGracePeriodSeconds ??= 30;
  fields.enableServiceLinks ??= true;
  for (const container of listAt(fields, 'containers')) {
    if (!isObject(container)) continue;
    for (const port of listAt(container, 'ports')) if (isObject(port)) port.protocol ??= 'TCP';
  }
  if (!isObject(pod.status)) pod.status = { phase: 'Pending', qosClass: 'BestEffort' };
}

function prepareService(service: KubeObject): void {
  const fields = spec(service);
  fields.type ??= 'ClusterIP';
  fields.sessionAffinity ??= 'None';
  if (fields.type !== 'ExternalName') fields.internalTrafficPolicy ??= 'Cluster';
  // Addresses are not given out here: a Service without one is headless, or names its address itself.
  if (textAt(fields, 'clusterIP') !== '') fields.clusterIPs ??= [fields.clusterIP];
  for (const port of listAt(fields, 'ports')) {
    if (!isObject(port)) continue;
    port.protocol ??= 'TCP';
    port.targetPort ??= port.port;
  }
  if (!isObject(service.status)) service.status = { loadBalancer: {} };
}

function required(object: unknown, path: string): Cause[] {
  const value = fieldAt(object, ...path.split('.'));
  if (value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)) return [];
  return [{ reason: 'FieldValueRequired', field: path, message: 'Required value' }];
}

function checkService(service: KubeObject): Cause[] {
  const headless =
    textAt(service, 'spec', 'clusterIP') === 'None' || textAt(service, 'spec', 'type') === 'ExternalName';
  const causes = headless ? [] : required(service, 'spec.ports');
  const ports = listAt(service, 'spec', 'ports');
  ports.forEach((port, index) => {
    const number = fieldAt(port, 'port');
    if (!Number.isInteger(number) || Number(number) < 1 || Number(number) > 65535) {
      const message = `Invalid value: ${JSON.stringify(number ?? 0)}: must be between 1 and 65535, inclusive`;
      causes.push({ reason: 'FieldValueInvalid', field: `spec.ports[${index}].port`, message });
    }
    if (ports.length > 1) {
      if (textAt(port, 'name') === '') {
        causes.push({ reason: 'FieldValueRequired', field: `spec.ports[${index}].name`, message: 'Required value' });
      } else if (ports.findIndex((other) => textAt(other, 'name') === textAt(port, 'name')) < index) {
        const message = `Duplicate value: ${JSON.stringify(textAt(port, 'name'))}`;
        causes.push({ reason: 'FieldValueDuplicate', field: `spec.ports[${index}].name`, message });
      }
    }
  });
  return causes;
}

function checkSlice(slice: KubeObject, previous: KubeObject | undefined): Cause[] {
  const causes = required(slice, 'addressType');
  if (previous !== undefined && textAt(previous, 'addressType') !== textAt(slice, 'addressType')) {
    const message = `Invalid value: ${JSON.stringify(textAt(slice, 'addressType'))}: field is immutable`;
    causes.push({ reason: 'FieldValueInvalid', field: 'addressType', message });
  }
  listAt(slice, 'endpoints').forEach((endpoint, index) => {
    if (listAt(endpoint, 'addresses').length === 0) {
      const message = 'Required value: must contain at least 1 address';
      causes.push({ reason: 'FieldValueRequired', field: `endpoints[${index}].addresses`, message });
    }
  });
  return causes;
}

function prepareSlice(slice: KubeObject): void {
  slice.endpoints ??= [];
  slice.ports ??= [];
  for (const port of listAt(slice, 'ports')) {
    if (!isObject(port)) continue;
    port.name ??= '';
    port.protocol ??= 'TCP';
  }
}

const core = { group: '', version: 'v1' } as const;
const eventFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

export const builtinResources: readonly Resource[] = [
  builtin({
    ...core,
    plural: 'nodes',
    kind: 'Node',
    namespaced: false,
    shortNames: ['no'],
    hasStatus: true,
    keepsStatusOnCreate: true,
    selectableFields: ['spec.unschedulable'],
  }),
  builtin({
    ...core,
    plural: 'pods',
    kind: 'Pod',
    namespaced: true,
    shortNames: ['po'],
    categories: ['all'],
    hasStatus: true,
    selectableFields: [
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'spec.hostNetwork',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ],
    prepare: preparePod,
    check: (pod) => required(pod, 'spec.containers'),
  }),
  builtin({
    ...core,
    plural: 'namespaces',
    kind: 'Namespace',
    namespaced: false,
    shortNames: ['ns'],
    verbs: allVerbs.filter((verb) => verb !== 'deletecollection'),
    hasStatus: true,
    selectableFields: ['status.phase'],
    prepare(namespace) {
      spec(namespace).finalizers ??= ['kubernetes'];
      if (!isObject(namespace.status)) namespace.status = { phase: 'Active' };
      namespace.metadata.labels = {
        ...namespace.metadata.labels,
        'kubernetes.io/metadata.name': namespace.metadata.name,
      };
    },
  }),
  builtin({
    ...core,
    plural: 'services',
    kind: 'Service',
    namespaced: true,
    shortNames: ['svc'],
    categories: ['all'],
    hasStatus: true,
    selectableFields: ['spec.clusterIP', 'spec.type'],
    prepare: prepareService,
    check: checkService,
  }),
  builtin({ ...core, plural: 'configmaps', kind: 'ConfigMap', namespaced: true, shortNames: ['cm'] }),
  builtin({
    ...core,
    plural: 'events',
    kind: 'Event',
    namespaced: true,
    shortNames: ['ev'],
    selectableFields: [
      ...eventFields.map((field) => `involvedObject.${field}`),
      'reason',
      'reportingComponent',
      'source',
      'type',
    ],
  }),
  builtin({
    group: 'events.k8s.io',
    version: 'v1',
    plural: 'events',
    kind: 'Event',
    namespaced: true,
    shortNames: ['ev'],
    collection: 'events',
    columns: (builtinColumns.events ?? []).map((column) => ({
      ...column,
      cell: (event, now) => column.cell(eventToCore(event), now),
    })),
    selectableFields: [...eventFields.map((field) => `regarding.${field}`), 'reason', 'reportingController', 'type'],
    toStored: eventToCore,
    fromStored: eventFromCore,
    check: checkEvent,
  }),
  builtin({
    group: 'discovery.k8s.io',
    version: 'v1',
    plural: 'endpointslices',
    kind: 'EndpointSlice',
    namespaced: true,
    counted: true,
    prepare: prepareSlice,
    check: checkSlice,
  }),
  builtin({
    group: 'coordination.k8s.io',
    version: 'v1',
    plural: 'leases',
    kind: 'Lease',
    namespaced: true,
  }),
];
