/** One mapping resolved: where it is accepted, where its pod is, and what stands in the way. The same on every node. */
import type { AcceptedReason, ClassReason, ProgrammedReason, Verdict } from '../api/conditions.ts';
import type { PortMap, PortMapClass } from '../api/types.ts';
import { describeRange, portMapKey, portRange } from './admission.ts';
import { chooseEndpoint, type Endpoint } from './endpoints.ts';
import { linkKey, recordedLink, slotCount } from './links.ts';
import { programmingNodes, servingNode } from './serving.ts';
import { type ClusterSnapshot, isNodeReady } from './snapshot.ts';

export interface Mapping {
  portMap: PortMap;
  portMapClass: PortMapClass | undefined;
  accepted: Verdict<AcceptedReason>;
  endpoint: Endpoint | null;
  serving: string | null;
  /** Nodes that hold the mapping's rules; empty while it cannot be programmed. */
  programming: string[];
  /** Those of them that need a link to the endpoint's node. */
  remote: string[];
  /** Why it is not programmed, as far as the cluster's objects tell; null when nothing stands in the way. */
  obstacle: Verdict<ProgrammedReason> | null;
}

function obstacle(reason: ProgrammedReason, message: string): Verdict<ProgrammedReason> {
  return { ok: false, reason, message };
}

export function resolveMapping(
  snapshot: ClusterSnapshot,
  portMap: PortMap,
  accepted: Verdict<AcceptedReason>,
  classVerdict: Verdict<ClassReason> | undefined,
): Mapping {
  const portMapClass = snapshot.classes.find((each) => each.metadata.name === portMap.spec.className);
  const nowhere: Mapping = {
    portMap,
    portMapClass,
    accepted,
    endpoint: null,
    serving: null,
    programming: [],
    remote: [],
    obstacle: null,
  };
  if (!accepted.ok || portMapClass === undefined) {
    return { ...nowhere, obstacle: obstacle('NotAccepted', 'the mapping is not accepted') };
  }
  const { serviceRef, protocol } = portMap.spec;
  const endpoint = chooseEndpoint(snapshot, portMap, portMapClass);
  if (endpoint === null) {
    const message = `Service ${portMap.metadata.namespace}/${serviceRef.name} has no ready endpoint with a ${protocol} port named "${serviceRef.port}"`;
    return { ...nowhere, obstacle: obstacle('NoReadyEndpoint', message) };
  }
  const serving = servingNode(snapshot, portMapClass, endpoint);
  if (serving === null) {
    const names = Object.keys(portMapClass.spec.nodes).join(', ');
    return {
      ...nowhere,
      endpoint,
      obstacle: obstacle('NodeNotReady', `none of the class's nodes (${names}) is in the cluster`),
    };
  }
  const programming = programmingNodes(snapshot, portMapClass, serving);
  const remote = programming.filter((node) => node !== endpoint.node);
  const resolved: Mapping = { ...nowhere, endpoint, serving, programming, remote };
  if (remote.length === 0) return { ...resolved, obstacle: notReady(snapshot, serving) };

  const needed = `pod ${endpoint.pod} is on ${endpoint.node}, and ${remote.join(', ')} would need a link to it`;
  const refused = (message: string): Mapping => ({
    ...resolved,
    programming: [],
    remote: [],
    obstacle: obstacle('ReturnPathUnavailable', `port ${describeRange(portRange(portMap))}: ${needed}, but ${message}`),
  });
  const { name } = portMapClass.metadata;
  if (portMapClass.spec.returnPath.mode === 'None') {
    return refused(
      `class ${name} has returnPath.mode None: place the pod on an accepting node, or use a class with mode Vxlan`,
    );
  }
  if (classVerdict?.ok !== true) return refused(`class ${name} is not ready: ${classVerdict?.message ?? 'unknown'}`);
  const pending = remote.filter((node) => recordedLink(portMapClass, node, endpoint.node) === undefined);
  if (pending.length > 0) {
    const slots = slotCount(portMapClass);
    if ((portMapClass.status?.links?.length ?? 0) >= slots)
      return refused(`all ${slots} link slots of class ${name} are taken`);
    const keys = pending.map((node) => linkKey(node, endpoint.node)).join(', ');
    return {
      ...resolved,
      obstacle: obstacle('LinkPending', `${endpoint.node} has not yet claimed a slot for link ${keys}`),
    };
  }
  return { ...resolved, obstacle: notReady(snapshot, serving) };
}

function notReady(snapshot: ClusterSnapshot, serving: string): Verdict<ProgrammedReason> | null {
  const node = snapshot.nodes.find((each) => each.metadata?.name === serving);
  if (node !== undefined && isNodeReady(node)) return null;
  return obstacle('NodeNotReady', `node ${serving} is not Ready and no other accepting node is`);
}

export function mappingKey(mapping: Mapping): string {
  return portMapKey(mapping.portMap);
}
