/** What holds for any cluster, however odd. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { elementsOf } from '../datapath/ruleset.ts';
import { isOwnMark } from './marks.ts';
import type { NodePlan } from './node-plan.ts';
import { plan } from './plan.ts';
import type { ClusterSnapshot } from './snapshot.ts';
import { host, link, node, now, portMap, portMapClass, slice } from './testing/snapshots.ts';

const names = ['edge-a', 'edge-d', 'worker-b', 'worker-c'];
const pairs = names.flatMap((a) => names.filter((b) => b > a).map((b) => `${a}/${b}`));

const endpoints = fc.uniqueArray(
  fc.record({
    node: fc.constantFrom(...names),
    pod: fc.constantFrom('a', 'b', 'c', 'd'),
    ready: fc.option(fc.boolean()),
    address: fc.ipV4(),
  }),
  { selector: (each) => each.pod, maxLength: 4 },
);

const spec = fc.record({
  accepting: fc.subarray(names, { minLength: 1 }),
  interfaces: fc.constantFrom<string[]>(['enp1s0'], ['enp1s0', 'wt0']),
  servingMode: fc.constantFrom('Single' as const, 'Multi' as const),
  mode: fc.constantFrom('Vxlan' as const, 'Vxlan' as const, 'None' as const),
  slots: fc.uniqueArray(fc.tuple(fc.constantFrom(...pairs), fc.integer({ min: 0, max: 6 })), {
    selector: ([pair]) => pair,
    maxLength: 6,
  }),
  rows: fc.subarray(names),
  sharedAddress: fc.boolean(),
});

/** Two classes over the same nodes, their VNIs apart or running into one another. */
const clusters: fc.Arbitrary<ClusterSnapshot> = fc
  .record({
    ready: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean(), fc.boolean()),
    specs: fc.tuple(spec, spec),
    secondVni: fc.constantFrom(4242, 4245, 4300),
    slices: fc.array(fc.record({ endpoints, port: fc.constantFrom(3000, 7000) }), { minLength: 1, maxLength: 2 }),
    maps: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('m1', 'm2', 'm3', 'm4'),
        className: fc.constantFrom('public', 'intranet'),
        port: fc.integer({ min: 3000, max: 3003 }),
        size: fc.constantFrom(0, 0, 1, 3),
        interfaces: fc.constantFrom<string[]>([], ['enp1s0'], ['wt0']),
        created: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
        at: fc.option(
          fc.record({ node: fc.constantFrom(...names), pod: fc.constantFrom('a', 'b'), address: fc.ipV4() }),
        ),
      }),
      { selector: (each) => each.name, maxLength: 4 },
    ),
  })
  .map(({ ready, specs, secondVni, slices, maps }) => ({
    nodes: names.map((name, index) => node(name, ready[index])),
    namespaces: [{ metadata: { name: 'games' } }],
    classes: specs.map(({ accepting, interfaces, servingMode, mode, slots, rows, sharedAddress }, index) =>
      portMapClass(
        {
          nodes: Object.fromEntries(accepting.map((name) => [name, { interfaces }])),
          servingMode,
          returnPath: { mode, vxlan: index === 0 ? {} : { vni: secondVni, subnet: '169.254.79.0/24' } },
        },
        {
          name: index === 0 ? 'public' : 'intranet',
          status: {
            links: slots
              .filter(([, slot], at) => slots.findIndex((each) => each[1] === slot) === at)
              .map(([key, slot]) => link(key, slot)),
            nodes: rows.map((name) => ({
              name,
              ready: true,
              message: '',
              underlayAddress:
                sharedAddress && ['worker-b', 'worker-c'].every((each) => rows.includes(each)) && name > 'w'
                  ? '192.168.1.10'
                  : (host(name).interfaces[1]?.addresses[0] ?? ''),
              underlayMTU: 1420,
            })),
          },
        },
      ),
    ),
    portMaps: maps.map(({ name, className, port, size, interfaces, created, at }) =>
      portMap(
        { className, port, interfaces, ...(size === 0 ? {} : { endPort: port + size }) },
        { name, created, ...(at === null ? {} : { status: { endpoint: at } }) },
      ),
    ),
    services: [],
    endpointSlices: slices.map((each, index) => slice(each.endpoints, each.port, `gameserver-${index}`)),
  }));

const plansOf = (cluster: ClusterSnapshot): NodePlan[] => names.map((name) => plan(cluster, name, host(name), now));

/** How often a value comes more than once. */
const repeated = (values: readonly (string | number)[]): (string | number)[] =>
  values.filter((value, index) => values.indexOf(value) !== index);

/** Every list in it the other way round, also inside the objects where order has no meaning. */
function reversed(cluster: ClusterSnapshot): ClusterSnapshot {
  return {
    nodes: cluster.nodes.toReversed(),
    namespaces: cluster.namespaces.toReversed(),
    classes: cluster.classes.toReversed().map((each) => ({
      ...each,
      spec: { ...each.spec, nodes: Object.fromEntries(Object.entries(each.spec.nodes).reverse()) },
      status: { links: each.status?.links?.toReversed() ?? [], nodes: each.status?.nodes ?? [] },
    })),
    portMaps: cluster.portMaps.toReversed(),
    services: cluster.services.toReversed(),
    endpointSlices: cluster.endpointSlices
      .toReversed()
      .map((each) => ({ ...each, endpoints: each.endpoints.toReversed() })),
  };
}

describe('for any cluster', () => {
  test('all agents agree: each mapping has one status writer, and each slot one claimant', () => {
    fc.assert(
      fc.property(clusters, (cluster) => {
        const plans = plansOf(cluster);
        expect(plans.flatMap((each) => each.portMapStatuses.map(({ name }) => name)).sort()).toEqual(
          cluster.portMaps.map((each) => each.metadata.name).sort(),
        );
        expect(repeated(plans.flatMap((each) => each.classConditions.map(({ className }) => className)))).toEqual([]);
        expect(
          repeated(plans.flatMap((each) => each.linkChanges.map((change) => `${change.className} ${change.key}`))),
        ).toEqual([]);
        for (const { node: claimant, claims } of plans) {
          for (const { peers } of claims) expect(peers).toContain(claimant);
        }
      }),
    );
  });

  test('what an accepting node sends into a link, the node at its far end takes from it and hands to one pod', () => {
    fc.assert(
      fc.property(clusters, (cluster) => {
        const plans = plansOf(cluster);
        const pods = new Map<string, string>();
        for (const { deliveries } of plans) {
          for (const { portMap: key, targetAddress } of deliveries.filter((each) => each.targetIsPod)) {
            expect(pods.get(key) ?? targetAddress).toBe(targetAddress);
            pods.set(key, targetAddress);
          }
        }
        for (const from of plans) {
          for (const delivery of from.deliveries.filter((each) => !each.targetIsPod)) {
            const via = from.links.find((each) => each.peerAddress === delivery.targetAddress);
            const to = plans.find((each) => each.node === via?.peer);
            const arrival = to?.deliveries.find(
              (each) => each.portMap === delivery.portMap && each.dialledAddresses.includes(delivery.targetAddress),
            );
            expect(arrival).toMatchObject({ targetIsPod: true, port: delivery.port, endPort: delivery.endPort });
            const back = to?.links.find((each) => each.device === arrival?.interface);
            expect(back).toMatchObject({
              vni: via?.vni,
              port: via?.port,
              address: via?.peerAddress,
              peerAddress: via?.address,
              underlayAddress: via?.peerUnderlayAddress,
              peerUnderlayAddress: via?.underlayAddress,
              mtu: via?.mtu,
            });
            expect(
              to?.returnPaths.some((each) => each.device === arrival?.interface && each.peerAddress === via?.address),
            ).toBe(true);
          }
        }
      }),
    );
  });

  test('on one node no two things want the same port, device, VNI, address or mark', () => {
    fc.assert(
      fc.property(clusters, (cluster) => {
        for (const { deliveries, links, returnPaths } of plansOf(cluster)) {
          const ports = deliveries.flatMap(({ interface: device, protocol, port, endPort }) =>
            Array.from({ length: endPort - port + 1 }, (_, index) => `${device} ${protocol} ${port + index}`),
          );
          expect(repeated(ports)).toEqual([]);
          expect(repeated(links.map((each) => each.device))).toEqual([]);
          expect(repeated(links.map((each) => `${each.vni} ${each.port}`))).toEqual([]);
          expect(repeated(links.flatMap((each) => [each.address, each.peerAddress]))).toEqual([]);
          expect(repeated(returnPaths.map((each) => each.mark))).toEqual([]);
          expect(returnPaths.every((each) => isOwnMark(each.mark) && each.table === each.mark)).toBe(true);
          expect(elementsOf({ deliveries, returnPaths }).requests.size).toBe(deliveries.length);
        }
      }),
    );
  });

  test('a plan does not depend on the order of what it is made from', () => {
    fc.assert(
      fc.property(clusters, fc.constantFrom(...names), (cluster, name) => {
        expect(plan(reversed(cluster), name, host(name), now)).toEqual(plan(cluster, name, host(name), now));
      }),
    );
  });

  test('nothing is delivered of what is said not to be accepted, and what is said to be programmed is', () => {
    fc.assert(
      fc.property(clusters, (cluster) => {
        const plans = plansOf(cluster);
        for (const { namespace, name, conditions, published } of plans.flatMap((each) => each.portMapStatuses)) {
          const key = `${namespace}/${name}`;
          const holders = plans.filter((each) => each.deliveries.some((delivery) => delivery.portMap === key));
          const [accepted, programmed] = conditions;
          if (accepted?.status === 'False') expect(holders).toEqual([]);
          if (programmed?.status === 'True') {
            expect(published.length).toBeGreaterThan(0);
            for (const at of published) expect(holders.map((each) => each.node)).toContain(at.node);
          }
        }
      }),
    );
  });
});
