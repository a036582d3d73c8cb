import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestNamespace } from './testing/namespace.ts';
import { podNodePlan } from './testing/plans.ts';

let namespace: TestNamespace;

beforeEach(async () => {
  namespace = await TestNamespace.start();
  await namespace.sh('ip link add enp1s0 type veth peer name other && ip link set enp1s0 up && ip link set other up');
  await namespace.call('apply', podNodePlan);
  await namespace.call('watch');
  // The monitors are in place once they tell of something.
  await heard(/dev enp1s0|enp1s0 /, 'ip addr add 198.18.0.1/32 dev enp1s0; ip addr del 198.18.0.1/32 dev enp1s0');
  await heard(/nft monitor/, 'nft add rule ip kuport kup-pre counter');
});

afterEach(() => namespace.stop());

/** Repeats a command until the monitors tell of it. @returns milliseconds from the last try to the event */
async function heard(pattern: RegExp, command: string): Promise<number> {
  for (let attempt = 0; attempt < 20; attempt++) {
    await namespace.call('drift');
    const begin = performance.now();
    await namespace.sh(command);
    while (performance.now() - begin < 1000) {
      if ((await namespace.call('drift')).some((line) => pattern.test(line))) return performance.now() - begin;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  throw new Error(`the monitors did not tell of: ${command}`);
}

test.each([
  ['nft flush ruleset', /^ours: nft monitor/],
  ['nft delete table ip kuport', /^ours: nft monitor/],
  ['ip rule del pref 102', /^ours: ip monitor: Deleted 102/],
  ['ip route flush table 1802502145', /^ours: ip monitor: Deleted default/],
  ['ip link set kup-00000001 down', /^ours: ip monitor/],
  ['ip link del kup-00000001', /^ours: ip monitor: Deleted/],
  ['ip addr flush dev kup-00000001', /^ours: ip monitor: Deleted/],
  ['ip addr add 198.18.0.2/32 dev enp1s0', /^host: ip monitor/],
  ['ip link set enp1s0 mtu 1300', /^host: ip monitor/],
])('%s is heard of within a second', async (command, pattern) => {
  expect(await heard(pattern, command)).toBeLessThan(1000);
});

test("what concerns others' tables, rules and routes is not ours", async () => {
  await namespace.call('drift');
  await namespace.sh(
    'nft add table ip other; nft "add chain ip other c"; nft add rule ip other c counter; ip rule add pref 7 fwmark 0x1 lookup 5; ip route add 198.18.9.0/24 via 203.0.113.1 2>/dev/null; ip rule del pref 7',
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await namespace.call('drift')).toEqual([]);
});

test('a monitor that dies is started again, and what was missed is looked for', async () => {
  const pid = (await namespace.sh('pgrep -f "^nft monitor"')).trim();
  await namespace.call('drift');
  await namespace.sh(`kill -9 ${pid.split('\n').join(' ')}`);
  const begin = performance.now();
  let lines: string[] = [];
  while (performance.now() - begin < 2000 && !lines.some((line) => line.includes('started again'))) {
    lines = [...lines, ...(await namespace.call('drift'))];
  }
  expect(lines).toContain('ours: nft monitor started again');
  await heard(
    /^ours: nft monitor: delete/,
    'nft add rule ip kuport kup-pre counter; nft flush chain ip kuport kup-pre',
  );
});
