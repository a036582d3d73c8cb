/** One mapping resolved: where it is accepted, where its pod is, and what stands in the way. The same on every node. */
import type { AcceptedReason, ClassReason, ProgrammedReason, Verdict } from '../api/conditions.ts';
import { vxlanSettings } from '../api/defaults.ts';
import type { PortMap, PortMapClass } from '../api/types.ts';
import { describeRange, portRange } from './admission.ts';
import { isUnusable, subnetExhausted } from './classes.ts';
import { hostBypass } from './cni.ts';
import { chooseEndpoint, type Endpoint, whyNoEndpoint } from './endpoints.ts';
import { foreignVnis, freeSlot, linkKey, recordedLink, slotCount } from './links.ts';
import { programmingNodes, servingNode } from './serving.ts';
import { byName, type ClusterSnapshot, isNodeReady } from './snapshot.ts';
import { underlayProblem } from './underlay.ts';

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
  /** Those of the programming nodes that a client can dial now. */
  answering: string[];
  /** Whether a link is wanted for which the class has no slot left. */
  lacksSlot: boolean;
  /** Why it is not programmed, as far as the cluster's objects tell; null when nothing stands in the way. */
  obstacle: Verdict<ProgrammedReason> | null;
}

type Obstacle = Verdict<ProgrammedReason>;

function obstacle(reason: ProgrammedReason, message: string): Obstacle {
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
    answering: [],
    lacksSlot: false,
    obstacle: null,
  };
  if (!accepted.ok || portMapClass === undefined) {
    return { ...nowhere, obstacle: obstacle('NotAccepted', `not accepted (${accepted.reason}): ${accepted.message}`) };
  }
  const endpoint = chooseEndpoint(snapshot, portMap, portMapClass);
  if (endpoint === null) {
    return { ...nowhere, obstacle: obstacle('NoReadyEndpoint', whyNoEndpoint(snapshot, portMap)) };
  }
  const serving = servingNode(snapshot, portMapClass, endpoint);
  const { name } = portMapClass.metadata;
  if (serving === null) {
    const names = Object.keys(portMapClass.spec.nodes).sort(byName).join(', ');
    const message = `no node of spec.nodes of class ${name} (${names}) is in the cluster: name one that is`;
    return { ...nowhere, endpoint, obstacle: obstacle('NodeNotReady', message) };
  }
  const programming = programmingNodes(snapshot, portMapClass, serving);
  const remote = programming.filter((node) => node !== endpoint.node);
  const found = { ...nowhere, endpoint, serving };
  if (remote.length > 0) {
    const refusal = noLinksAtAll(portMapClass, classVerdict);
    if (refusal !== null) {
      const needed = `pod ${endpoint.pod} is on ${endpoint.node}, and ${remote.join(', ')} would need a link to it`;
      const message = `port ${describeRange(portRange(portMap))}: ${needed}, but ${refusal}`;
      return { ...found, obstacle: obstacle('ReturnPathUnavailable', message) };
    }
  }
  const resolved = { ...found, programming, remote, ...linkState(snapshot, portMapClass, endpoint, programming) };
  const general = cniBypass(snapshot) ?? notReady(snapshot, serving, name);
  return general === null ? resolved : { ...resolved, answering: [], obstacle: general };
}

/** Why the class has no links, whatever the nodes; null where it has. */
function noLinksAtAll(portMapClass: PortMapClass, verdict: Verdict<ClassReason> | undefined): string | null {
  const { name } = portMapClass.metadata;
  if (portMapClass.spec.returnPath.mode === 'None') {
    return `class ${name} has returnPath.mode None: place the pod on an accepting node, or use a class with mode Vxlan`;
  }
  return verdict === undefined || isUnusable(verdict)
    ? `class ${name} is not ready: ${verdict?.message ?? 'not judged'}`
    : null;
}

/** One link that cannot be built stops the accepting node that needs it, and no other. */
function linkState(
  snapshot: ClusterSnapshot,
  portMapClass: PortMapClass,
  endpoint: Endpoint,
  programming: readonly string[],
): Pick<Mapping, 'answering' | 'lacksSlot' | 'obstacle'> {
  const answering: string[] = [];
  const obstacles: Obstacle[] = [];
  let lacksSlot = false;
  for (const node of programming) {
    const found = node === endpoint.node ? null : linkObstacle(snapshot, portMapClass, node, endpoint.node);
    if (found === null) answering.push(node);
    else if (found === 'no slot') lacksSlot = true;
    else obstacles.push(found);
  }
  const exhausted = lacksSlot ? obstacle('ReturnPathUnavailable', subnetExhausted(portMapClass).message) : null;
  return { answering, lacksSlot, obstacle: exhausted ?? obstacles[0] ?? null };
}

function linkObstacle(
  snapshot: ClusterSnapshot,
  portMapClass: PortMapClass,
  node: string,
  peer: string,
): Obstacle | 'no slot' | null {
  const key = linkKey(node, peer);
  const recorded = recordedLink(portMapClass, node, peer);
  if (recorded === undefined) {
    if (freeSlot(portMapClass, foreignVnis(snapshot, portMapClass)) === null) return 'no slot';
    return obstacle('LinkPending', `${peer} has not yet claimed a slot for link ${key}`);
  }
  if (recorded.slot >= slotCount(portMapClass)) {
    const { subnet } = vxlanSettings(portMapClass);
    const message = `link ${key} has slot ${recorded.slot}, which spec.returnPath.vxlan.subnet ${subnet} of class ${portMapClass.metadata.name} has no room for: use a larger subnet`;
    return obstacle('ReturnPathUnavailable', message);
  }
  const problem = underlayProblem(snapshot, portMapClass, node) ?? underlayProblem(snapshot, portMapClass, peer);
  return problem === null ? null : obstacle('ReturnPathUnavailable', problem);
}

function cniBypass({ cniConfig }: ClusterSnapshot): Obstacle | null {
  const bypass = hostBypass(cniConfig);
  return bypass === null ? null : obstacle('CNIBypassesHost', `${bypass.why}: ${bypass.cure}`);
}

function notReady(snapshot: ClusterSnapshot, serving: string, className: string): Obstacle | null {
  const node = snapshot.nodes.find((each) => each.metadata?.name === serving);
  if (node !== undefined && isNodeReady(node)) return null;
  return obstacle(
    'NodeNotReady',
    `node ${serving} is not Ready and no other accepting node of class ${className} is: bring one back`,
  );
}
