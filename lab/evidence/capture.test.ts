import { afterAll, beforeAll, expect, test } from 'vitest';
import { Lab } from '../lab.ts';
import { loadTopology } from '../topology/load.ts';
import { startCapture } from './capture.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.up({ name: `capture-test-${process.pid}`, topology: loadTopology('home-edge'), agents: false });
});
afterAll(async () => {
  await lab.down();
});

test('a capture has every packet from its start to its end, or says that it needs root', async () => {
  const edge = lab.host('edge-a');
  const starting = startCapture(edge, 'enp1s0', 'icmp');
  if (process.getuid?.() !== 0) {
    await expect(starting).rejects.toThrow('captures need a lab that was started as root');
    return;
  }
  const capture = await starting;
  await lab.host('client-a').exec(['ping', '-c', '3', '-i', '0.2', '203.0.113.9']);
  await capture.stop();
  const packets = await capture.read();
  expect(packets.filter((packet) => packet.includes('198.51.100.7 > 203.0.113.9: ICMP echo request'))).toHaveLength(3);
  expect(packets.filter((packet) => packet.includes('203.0.113.9 > 198.51.100.7: ICMP echo reply'))).toHaveLength(3);
});
