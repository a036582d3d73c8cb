import { describe, expect, test } from 'vitest';
import { linkDevice } from './links.ts';
import { link, planOn, portMapClass, slice, statusesOf } from './testing/snapshots.ts';

const claimed = portMapClass(
  {},
  {
    status: {
      links: [link('edge-a/worker-b', 3)],
      nodes: [{ name: 'worker-b', ready: true, message: '', underlayAddress: '100.64.93.144', underlayMTU: 1380 }],
    },
  },
);

describe('where the pod is on another node', () => {
  test("before the slot is recorded the pod's node claims it and nothing is programmed", () => {
    expect(planOn('worker-b').claims).toEqual([
      { className: 'public', key: 'edge-a/worker-b', peers: ['edge-a', 'worker-b'], foreignVnis: [] },
    ]);
    for (const name of ['edge-a', 'worker-b'])
      expect(planOn(name)).toMatchObject({ links: [], deliveries: [], returnPaths: [] });
    expect(planOn('edge-a').claims).toEqual([]);
    expect(statusesOf({})[0]?.conditions[1]).toMatchObject({ status: 'False', reason: 'LinkPending' });
  });

  test('the accepting node sends to the far end of the link, the MTU is that of the smaller underlay less 50', () => {
    const edge = planOn('edge-a', { classes: [claimed] });
    expect(edge.links).toEqual([
      {
        device: linkDevice('public', 'worker-b'),
        className: 'public',
        peer: 'worker-b',
        vni: 4245,
        port: 4790,
        underlayAddress: '100.64.93.143',
        peerUnderlayAddress: '100.64.93.144',
        address: '169.254.77.6',
        peerAddress: '169.254.77.7',
        mtu: 1330,
      },
    ]);
    expect(edge.deliveries).toMatchObject([
      { interface: 'enp1s0', targetAddress: '169.254.77.7', targetPort: 3000, targetIsPod: false },
    ]);
    expect(edge.returnPaths).toEqual([]);
  });

  test("the pod's node delivers from the link and has the way back", () => {
    const worker = planOn('worker-b', { classes: [claimed] });
    const device = linkDevice('public', 'edge-a');
    expect(worker.deliveries).toMatchObject([
      {
        interface: device,
        targetAddress: '10.244.18.107',
        targetPort: 3000,
        dialledAddresses: ['169.254.77.7'],
        targetIsPod: true,
      },
    ]);
    expect(worker.returnPaths).toMatchObject([
      { device, address: '169.254.77.7', peerAddress: '169.254.77.6', peerUnderlayAddress: '100.64.93.143' },
    ]);
  });

  test('another port of the pod is written on its own node only', () => {
    const parts = { classes: [claimed], endpointSlices: [slice([{ node: 'worker-b' }], 7777)] };
    expect(planOn('edge-a', parts).deliveries[0]?.targetPort).toBe(3000);
    expect(planOn('worker-b', parts).deliveries[0]?.targetPort).toBe(7777);
  });

  test.each(['edge-d', 'worker-c'])('%s holds nothing', (name) => {
    expect(planOn(name, { classes: [claimed] })).toMatchObject({
      links: [],
      deliveries: [],
      returnPaths: [],
      portMapStatuses: [],
    });
  });
});
