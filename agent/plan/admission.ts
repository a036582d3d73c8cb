/** Whether a mapping may be programmed at all, or the reason why not. */

import type { AcceptedReason, Verdict } from '../api/conditions.ts';
import { allowedPorts } from '../api/defaults.ts';
import type { PortMap, PortMapClass } from '../api/types.ts';
import { candidates } from './endpoints.ts';
import { Frontends } from './frontends.ts';
import { HeldPorts } from './held-ports.ts';
import { describeSelector, labelText, selects } from './selectors.ts';
import { acceptingNodes } from './serving.ts';
import { byName, type ClusterSnapshot } from './snapshot.ts';
import { nodeRowOf } from './underlay.ts';

export interface PortRange {
  port: number;
  /** Equal to `port` for a single one. */
  endPort: number;
}

export function portRange({ spec }: PortMap): PortRange {
  return { port: spec.port, endPort: spec.endPort ?? spec.port };
}

export function describeRange({ port, endPort }: PortRange): string {
  return port === endPort ? String(port) : `${port}-${endPort}`;
}

export function portMapKey({ metadata }: PortMap): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Interfaces of a node that a mapping asks for, in the class's order. */
export function mappedInterfaces(portMap: PortMap, portMapClass: PortMapClass, node: string): string[] {
  const all = portMapClass.spec.nodes[node]?.interfaces ?? [];
  const wanted = portMap.spec.interfaces ?? [];
  return wanted.length === 0 ? all : all.filter((name) => wanted.includes(name));
}

type Refusal = Verdict<AcceptedReason>;

function refuse(reason: AcceptedReason, message: string): Refusal {
  return { ok: false, reason, message };
}

/** Admission of every mapping, by `namespace/name`; earlier ones first, since they hold their ports against later ones. */
export function admitAll(snapshot: ClusterSnapshot): Map<string, Refusal> {
  const classes = new Map(snapshot.classes.map((each) => [each.metadata.name, each]));
  const verdicts = new Map<string, Refusal>();
  const held = new HeldPorts<PortMap>();
  const frontends = new Frontends(snapshot);
  for (const portMap of [...snapshot.portMaps].sort(byAge)) {
    const portMapClass = classes.get(portMap.spec.className);
    const refusal =
      portMapClass === undefined
        ? refuse(
            'ClassNotFound',
            `no PortMapClass is named "${portMap.spec.className}" (spec.className): ${knownClasses(classes)}; create it, or make another PortMap`,
          )
        : (refusalByClass(snapshot, portMap, portMapClass) ??
          refusalByTakenPort(snapshot, portMap, portMapClass, frontends) ??
          refusalByConflict(snapshot, portMap, portMapClass, held));
    verdicts.set(portMapKey(portMap), refusal ?? { ok: true, reason: 'Valid', message: '' });
    // A refused mapping holds no port against others.
    if (refusal !== null || portMapClass === undefined) continue;
    for (const { place } of places(snapshot, portMap, portMapClass)) held.add(place, portRange(portMap), portMap);
  }
  return verdicts;
}

/** The older first; of one age by namespace and name. */
export function byAge(a: PortMap, b: PortMap): number {
  const created = (each: PortMap): string => each.metadata.creationTimestamp ?? '';
  return byName(created(a), created(b)) || byName(portMapKey(a), portMapKey(b));
}

function knownClasses(classes: ReadonlyMap<string, PortMapClass>): string {
  const names = [...classes.keys()].sort(byName);
  return names.length === 0 ? 'there is none yet' : `there are ${names.join(', ')}`;
}

function refusalByClass(snapshot: ClusterSnapshot, portMap: PortMap, portMapClass: PortMapClass): Refusal | null {
  const { name } = portMapClass.metadata;
  const range = portRange(portMap);
  const { min, max, reserved } = allowedPorts(portMapClass);
  if (range.endPort < range.port) {
    return refuse(
      'InvalidPortRange',
      `spec.endPort ${range.endPort} is below spec.port ${range.port}: make another PortMap with endPort at or above port`,
    );
  }
  const namespace = snapshot.namespaces.find((each) => each.metadata?.name === portMap.metadata.namespace);
  const labels = namespace?.metadata?.labels ?? {};
  if (!selects(portMapClass.spec.namespaceSelector, labels)) {
    return refuse(
      'NamespaceNotSelected',
      `class ${name} does not serve namespace ${portMap.metadata.namespace}: its labels (${labelText(labels)}) do not match spec.namespaceSelector of the class (${describeSelector(portMapClass.spec.namespaceSelector)}); label the namespace, or use another class`,
    );
  }
  if (range.port < min || range.endPort > max) {
    return refuse(
      'PortOutOfRange',
      `port ${describeRange(range)} is outside ${min}-${max}, which spec.ports of class ${name} gives out: ask for one inside`,
    );
  }
  const kept = reserved.find((port) => port >= range.port && port <= range.endPort);
  if (kept !== undefined)
    return refuse('PortReserved', `port ${kept} is reserved (spec.ports.reserved of class ${name}): ask for another`);
  const known = new Set(Object.values(portMapClass.spec.nodes).flatMap((node) => node.interfaces));
  const unknown = portMap.spec.interfaces?.find((each) => !known.has(each));
  if (unknown !== undefined) {
    return refuse(
      'InterfaceNotInClass',
      `interface ${unknown} (spec.interfaces) is on no node of class ${name}: name one of ${[...known].sort(byName).join(', ')}, or none`,
    );
  }
  const translated = candidates(snapshot, portMap).find((each) => each.targetPort !== range.port);
  if (range.port !== range.endPort && translated !== undefined) {
    return refuse(
      'RangeTranslation',
      `range ${describeRange(range)} must map to itself, but port "${portMap.spec.serviceRef.port}" of Service ${portMap.spec.serviceRef.name} is ${translated.targetPort} on pod ${translated.pod}: let the pod listen on the range's own ports and make ${range.port} the Service's targetPort`,
    );
  }
  return null;
}

function refusalByTakenPort(
  snapshot: ClusterSnapshot,
  portMap: PortMap,
  portMapClass: PortMapClass,
  frontends: Frontends,
): Refusal | null {
  const range = portRange(portMap);
  const { protocol } = portMap.spec;
  for (const node of acceptingNodes(snapshot, portMapClass)) {
    const interfaces = mappedInterfaces(portMap, portMapClass, node);
    if (interfaces.length === 0) continue;
    const row = nodeRowOf(portMapClass, node);
    const listener = row?.takenPorts?.find(
      (each) =>
        each.protocol === protocol &&
        each.port >= range.port &&
        each.port <= range.endPort &&
        (each.interface === undefined || interfaces.includes(each.interface)),
    );
    const addresses = interfaces.flatMap((name) => row?.addresses?.[name] ?? []);
    const taken = listener ?? frontends.find(protocol, range, addresses);
    if (taken === undefined) continue;
    return refuse(
      'PortInUse',
      `port ${taken.port}/${protocol} on ${node} is taken by the node itself, ${taken.role}: ask for another`,
    );
  }
  return null;
}

/** Where a mapping holds its ports. */
function places(
  snapshot: ClusterSnapshot,
  portMap: PortMap,
  portMapClass: PortMapClass,
): { place: string; node: string; name: string }[] {
  return acceptingNodes(snapshot, portMapClass).flatMap((node) =>
    mappedInterfaces(portMap, portMapClass, node).map((name) => ({
      place: `${portMap.spec.protocol}/${node}/${name}`,
      node,
      name,
    })),
  );
}

function refusalByConflict(
  snapshot: ClusterSnapshot,
  portMap: PortMap,
  portMapClass: PortMapClass,
  held: HeldPorts<PortMap>,
): Refusal | null {
  const range = portRange(portMap);
  for (const { place, node, name } of places(snapshot, portMap, portMapClass)) {
    const found = held.find(place, range);
    if (found === undefined) continue;
    return refuse(
      'PortConflict',
      `port ${describeRange(range)}/${portMap.spec.protocol} on ${name} of ${node} is held by PortMap ${portMapKey(found.holder)} (${describeRange(found)}), which is older: ask for another`,
    );
  }
  return null;
}
