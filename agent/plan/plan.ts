/**
 * What one node must hold and say, from what all agents see alike and what this host looks like. Pure: no clock, no
 * I/O; the same input in any order gives a deep-equal plan.
 */
import { condition } from '../api/conditions.ts';
import type { PortMapClass } from '../api/types.ts';
import { admitAll, mappedInterfaces, portMapKey, portRange } from './admission.ts';
import { judgeClasses, subnetExhausted } from './classes.ts';
import type { Endpoint } from './endpoints.ts';
import { idleSeconds } from './idle-timeout.ts';
import { shareLinks } from './link-ports.ts';
import { foreignVnis, linkDevice, linkKey, plannedLink, recordedLink, slotRetentionMs } from './links.ts';
import { type Mapping, resolveMapping } from './mapping.ts';
import { assignMarks } from './marks.ts';
import type { Delivery, HostFacts, LinkChange, NodePlan, PlannedLink, SlotClaim } from './node-plan.ts';
import { nodeRow } from './node-row.ts';
import { statusWriter } from './serving.ts';
import { byName, type ClusterSnapshot, isNodeReady } from './snapshot.ts';
import { portMapStatus } from './status.ts';
import { type OwnUnderlay, ownUnderlay } from './underlay.ts';

/**
 * @param node name of the node the plan is for
 * @param now milliseconds since the epoch, for slots whose time has come
 */
export function plan(snapshot: ClusterSnapshot, node: string, host: HostFacts, now: number): NodePlan {
  const verdicts = admitAll(snapshot);
  const classVerdicts = judgeClasses(snapshot);
  const resolved = [...snapshot.portMaps]
    .sort((a, b) => byName(portMapKey(a), portMapKey(b)))
    .map((portMap) => {
      const accepted = verdicts.get(portMapKey(portMap));
      if (accepted === undefined) throw new Error(`no verdict on ${portMapKey(portMap)}`);
      return resolveMapping(snapshot, portMap, accepted, classVerdicts.get(portMap.spec.className));
    });
  const mappings = shareLinks(resolved);

  const builder = new Builder(snapshot, node, host);
  for (const mapping of mappings) builder.add(mapping);
  const { links, deliveries, claims, linkedClasses } = builder;
  const onPodSide = [...builder.podSideLinks.values()];
  const marks = assignMarks(
    onPodSide.map((link) => link.device),
    host.linkMarks,
  );
  const returnPaths = onPodSide.map(({ device, address, peerAddress, peerUnderlayAddress }) => {
    const mark = marks.get(device);
    if (mark === undefined) throw new Error(`no mark for ${device}`);
    return { device, mark, table: mark, address, peerAddress, peerUnderlayAddress };
  });

  const classes = [...snapshot.classes].sort((a, b) => byName(a.metadata.name, b.metadata.name));
  const allLinks = [...links.values()].sort((a, b) => byName(a.device, b.device));
  return {
    node,
    links: allLinks,
    returnPaths: returnPaths.sort((a, b) => byName(a.device, b.device)),
    deliveries: deliveries.sort(
      (a, b) => byName(a.portMap, b.portMap) || byName(a.interface, b.interface) || a.port - b.port,
    ),
    claims: [...claims.values()].sort((a, b) => byName(a.className, b.className) || byName(a.key, b.key)),
    linkChanges: classes.flatMap((each) => linkChanges(snapshot, each, mappings, node, now)),
    portMapStatuses: mappings
      .filter((each) => statusWriter(snapshot, each.portMapClass, each.endpoint, each.serving) === node)
      .map((each) => portMapStatus(each, node, host)),
    classConditions: classes
      .filter((each) => statusWriter(snapshot, each, null, null) === node)
      .flatMap((each) => {
        const ofSpec = classVerdicts.get(each.metadata.name);
        if (ofSpec === undefined) return [];
        const lacksSlot = mappings.some((mapping) => mapping.lacksSlot && mapping.portMapClass === each);
        const verdict = ofSpec.ok && lacksSlot ? subnetExhausted(each) : ofSpec;
        return [
          {
            className: each.metadata.name,
            condition: condition('Ready', verdict, each.metadata.generation ?? 0),
            goneNodes: goneNodes(snapshot, each),
          },
        ];
      }),
    classNodeStatuses: classes
      .filter((each) => Object.hasOwn(each.spec.nodes, node) || linkedClasses.has(each.metadata.name))
      .map((each) => ({ className: each.metadata.name, row: nodeRow(snapshot, each, node, host) })),
  };
}

/** Rows of nodes that have left the cluster: nobody else would take them away, and a new node may have their address. */
function goneNodes(snapshot: ClusterSnapshot, { status }: PortMapClass): string[] {
  const existing = new Set(snapshot.nodes.map((each) => each.metadata?.name));
  const rows = (status?.nodes ?? []).map((row) => row.name);
  return rows.filter((name) => !existing.has(name)).sort(byName);
}

class Builder {
  readonly links = new Map<string, PlannedLink>();
  /** Those of the links over which requests arrive for a pod of this node. */
  readonly podSideLinks = new Map<string, PlannedLink>();
  readonly claims = new Map<string, SlotClaim>();
  /** Classes of which this node has an end of a link to hold, built or not. */
  readonly linkedClasses = new Set<string>();
  readonly deliveries: Delivery[] = [];
  readonly #snapshot: ClusterSnapshot;
  readonly #node: string;
  readonly #host: HostFacts;

  constructor(snapshot: ClusterSnapshot, node: string, host: HostFacts) {
    this.#snapshot = snapshot;
    this.#node = node;
    this.#host = host;
  }

  add(mapping: Mapping): void {
    const { portMapClass, endpoint, programming, remote } = mapping;
    if (portMapClass === undefined || endpoint === null || programming.length === 0) return;
    if (programming.includes(this.#node)) this.#accept(mapping, portMapClass, endpoint);
    if (endpoint.node === this.#node) for (const peer of remote) this.#arrive(mapping, portMapClass, endpoint, peer);
  }

  /** This node takes the packet in: to the pod itself when it is here, else to the far end of the link. */
  #accept(mapping: Mapping, portMapClass: PortMapClass, endpoint: Endpoint): void {
    const { portMap } = mapping;
    const range = portRange(portMap);
    const isHere = endpoint.node === this.#node;
    const link = isHere ? null : this.#link(portMapClass, endpoint.node);
    if (!isHere && link === null) return;
    for (const name of mappedInterfaces(portMap, portMapClass, this.#node)) {
      this.deliveries.push({
        portMap: portMapKey(portMap),
        interface: name,
        protocol: portMap.spec.protocol,
        ...range,
        targetAddress: link?.peerAddress ?? endpoint.address,
        // Toward a link the dialled port stays; the pod's node writes the pod's own.
        targetPort: isHere ? endpoint.targetPort : range.port,
        dialledAddresses: this.#host.interfaces.find((each) => each.name === name)?.addresses ?? [],
        targetIsPod: isHere,
        idleSeconds: idleSeconds(portMap.spec.idleTimeout),
      });
    }
  }

  /** A request for a pod of this node arrives over the link to `peer`. */
  #arrive(mapping: Mapping, portMapClass: PortMapClass, endpoint: Endpoint, peer: string): void {
    const { portMap } = mapping;
    this.linkedClasses.add(portMapClass.metadata.name);
    if (recordedLink(portMapClass, this.#node, peer) === undefined) {
      const className = portMapClass.metadata.name;
      const peers = [this.#node, peer].sort(byName) as [string, string];
      const key = linkKey(this.#node, peer);
      this.claims.set(`${className}/${key}`, {
        className,
        key,
        peers,
        foreignVnis: foreignVnis(this.#snapshot, portMapClass),
      });
      return;
    }
    const link = this.#link(portMapClass, peer);
    if (link === null) return;
    this.podSideLinks.set(link.device, link);
    this.deliveries.push({
      portMap: portMapKey(portMap),
      interface: link.device,
      protocol: portMap.spec.protocol,
      ...portRange(portMap),
      targetAddress: endpoint.address,
      targetPort: endpoint.targetPort,
      dialledAddresses: [link.address],
      targetIsPod: true,
      idleSeconds: idleSeconds(portMap.spec.idleTimeout),
    });
  }

  #link(portMapClass: PortMapClass, peer: string): PlannedLink | null {
    const device = linkDevice(portMapClass.metadata.name, peer);
    const known = this.links.get(device);
    if (known !== undefined) return known;
    const own: OwnUnderlay | { missing: string } = ownUnderlay(this.#snapshot, portMapClass, this.#node, this.#host);
    const link = 'missing' in own ? null : plannedLink(this.#snapshot, portMapClass, this.#node, peer, own);
    if (link !== null) this.links.set(device, link);
    return link;
  }
}

/** The first of a link's peers that is there and Ready keeps its books; with both gone, the first node that is. */
function linkChanges(
  snapshot: ClusterSnapshot,
  portMapClass: PortMapClass,
  mappings: readonly Mapping[],
  node: string,
  now: number,
): LinkChange[] {
  const existing = snapshot.nodes.flatMap((each) => each.metadata?.name ?? []).sort(byName);
  const alive = new Set(snapshot.nodes.filter(isNodeReady).map((each) => each.metadata?.name));
  const needed = new Set(
    mappings
      .filter((each) => each.portMapClass === portMapClass)
      .flatMap(({ endpoint, remote }) => (endpoint === null ? [] : remote.map((peer) => linkKey(peer, endpoint.node)))),
  );
  const links = [...(portMapClass.status?.links ?? [])].sort((a, b) => byName(a.key, b.key));
  return links.flatMap(({ key, peers, unusedSince }): LinkChange[] => {
    const order = [...peers.filter((peer) => existing.includes(peer)), ...existing];
    const keeper = order.find((peer) => alive.has(peer)) ?? order[0];
    if (keeper !== node) return [];
    const className = portMapClass.metadata.name;
    if (needed.has(key)) return unusedSince === undefined ? [] : [{ className, key, change: 'used' }];
    if (unusedSince === undefined) return [{ className, key, change: 'unused' }];
    return now - Date.parse(unusedSince) >= slotRetentionMs ? [{ className, key, change: 'free' }] : [];
  });
}
