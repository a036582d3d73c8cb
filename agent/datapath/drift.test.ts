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
  await quiet();
});

afterEach(() => namespace.stop());

/** Without the look that follows a monitor's replacement: it says of no change. */
function changes(lines: string[]): string[] {
  return lines.filter((line) => !/^(ruleset|skeleton): replaced/.test(line));
}

/** Waits until what has been done has been told of. @param forMs without a word, in milliseconds */
async function quiet(forMs = 200): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, forMs));
  while ((await namespace.call('drift')).length > 0);
}

/** Repeats a command until the monitors tell of it. @returns milliseconds from the last try to the event */
async function heard(pattern: RegExp, command: string): Promise<number> {
  for (let attempt = 0; attempt < 20; attempt++) {
    await namespace.call('drift');
    const begin = performance.now();
    await namespace.sh(attempt === 0 ? command : `${command} || true`);
    while (performance.now() - begin < 1000) {
      if ((await namespace.call('drift')).some((line) => pattern.test(line))) return performance.now() - begin;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  throw new Error(`the monitors did not tell of: ${command}`);
}

test.each([
  ['nft flush ruleset', /^ruleset: nft monitor/],
  ['nft delete table ip kuport', /^ruleset: nft monitor/],
  ['nft flush chain ip kuport kup-mangle', /^ruleset: nft monitor/],
  ['nft flush map ip kuport ports', /^ruleset: nft monitor/],
  [`nft delete element ip kuport ports '{ "kup-00000001" . udp . 3000 }'`, /^ruleset: nft monitor/],
  [`nft delete element ip kuport port-ranges '{ "enp1s0" . tcp . 27015-27115 }'`, /^ruleset: nft monitor/],
  [`nft delete element ip kuport requests '{ "kup-00000001" . udp . 3000 }'`, /^ruleset: nft monitor/],
  ['ip rule del pref 102', /^links: ip monitor: Deleted 102/],
  ['ip route flush table 1802502145', /^links: ip monitor: Deleted default/],
  ['ip link set kup-00000001 down', /^links: ip monitor/],
  ['ip link del kup-00000001', /^links: ip monitor: Deleted/],
  ['ip addr flush dev kup-00000001', /^links: ip monitor: Deleted/],
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
  expect(changes(await namespace.call('drift'))).toEqual([]);
});

test('a monitor that dies is started again, and what was missed is looked for', async () => {
  const pid = (await namespace.sh('pgrep -f "^nft .*monitor"')).trim();
  await namespace.call('drift');
  await namespace.sh(`kill -9 ${pid.split('\n').join(' ')}`);
  const begin = performance.now();
  let lines: string[] = [];
  while (performance.now() - begin < 2000 && !lines.some((line) => line.includes('started again: stdbuf'))) {
    lines = [...lines, ...(await namespace.call('drift'))];
  }
  expect(lines).toContain('ours: started again: stdbuf -oL nft --debug=mnl monitor new tables');
  expect(await heard(/^ruleset: nft monitor/, 'nft add rule ip kuport kup-pre counter')).toBeLessThan(1000);
});

// A monitor that gets lost in hundreds of messages is replaced, and a look at the table follows: that tells of the flush too.
test("a flush of the ruleset leads to a look within a second every time, among hundreds of others' rules, after changes of all sizes", async () => {
  const others = [
    'table ip other {',
    'set s { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 192.0.2.0/24 }; }',
    'chain c { type filter hook forward priority 0;',
    ...Array.from({ length: 200 }, (_, n) => `ip saddr 10.0.0.${n} counter comment "${'x'.repeat(n % 120)}"`),
    '}',
    '}',
  ].join('\n');
  for (let round = 0; round < 4; round++) {
    await namespace.sh(`nft -f - <<'E'\n${others}\nE`);
    await namespace.call('distrust');
    await namespace.call(
      'apply',
      round % 2 === 0 ? podNodePlan : { ...podNodePlan, deliveries: podNodePlan.deliveries.slice(1) },
    );
    await quiet(1200);
    const begin = performance.now();
    await namespace.sh('nft flush ruleset');
    let lines: string[] = [];
    while (lines.length === 0 && performance.now() - begin < 1000) lines = await namespace.call('drift');
    expect(lines, `round ${round}`).not.toEqual([]);
  }
});

test('changes of others, however many, cost a look now and then', async () => {
  await namespace.sh('nft "add table ip other; add set ip other m { type ipv4_addr; flags interval; }"');
  await quiet();
  for (let round = 0; round < 20; round++)
    await namespace.sh(
      `nft add element ip other m '{ 10.0.${round}.0/24 comment "${'x'.repeat(3 * round)}" }'; nft delete element ip other m '{ 10.0.${round}.0/24 }'`,
    );
  const lines = await namespace.call('drift');
  expect(changes(lines)).toEqual([]);
  expect(lines.filter((line) => line.startsWith('ruleset')).length).toBeLessThanOrEqual(1);
});

test("the agent's own changes of the table are not told of, whatever they change; another's in between is", async () => {
  await namespace.call('distrust');
  const changed = structuredClone(podNodePlan);
  for (const delivery of changed.deliveries) delivery.targetAddress = '10.244.1.8';
  for (const plan of [podNodePlan, changed, podNodePlan, changed]) {
    await namespace.call('drift');
    expect((await namespace.call('apply', plan)).applied?.change.nft).toContain('port-ranges');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(changes(await namespace.call('drift'))).toEqual([]);
  }
  expect(await heard(/^ruleset: nft monitor/, 'nft add rule ip kuport kup-pre counter')).toBeLessThan(1000);
});
