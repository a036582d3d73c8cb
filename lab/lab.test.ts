/** The lab as its users meet it: commands, several at once, bad input, and nothing left behind. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { labsFolder, readHolderRecord } from './backends/netns/state-folder.ts';
import { hostState, processesOf } from './commands/soak.ts';
import { projectRoot } from './project.ts';
import { runLab } from './testing/command.ts';
import { waitFor } from './wait.ts';

const first = `lab-test-${process.pid}`;
const second = `${first}-b`;
const example = join(projectRoot, 'docs/examples/gameserver.yaml');
let scratch: string;
let before: string;

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'kuport-test-'));
  before = await hostState();
  expect(runLab(['up', '--name', first])).toMatchObject({ code: 0 });
});
afterAll(() => {
  for (const name of [first, second]) runLab(['down', '--name', name]);
  rmSync(scratch, { recursive: true, force: true });
});

const file = (name: string, text: string): string => {
  writeFileSync(join(scratch, name), text);
  return join(scratch, name);
};

describe('a lab that `lab up` has finished', () => {
  test('is still there when its driver is gone, with everything its status tells', () => {
    const { code, stdout } = runLab(['status', '--name', first]);
    expect(code).toBe(0);
    for (const word of [
      'edge-a',
      '203.0.113.9',
      '100.64.93.143',
      'port-restricted',
      'API up',
      'agent runs',
      'wireguard-go',
    ]) {
      expect(stdout).toContain(word);
    }
    const json = JSON.parse(runLab(['status', '--name', first, '--json']).stdout) as { name: string; rows: unknown[] };
    expect(json).toMatchObject({ name: first });
    expect(json.rows).toHaveLength(7);
  });

  test('takes manifests and delivers a client to the pod they describe', async () => {
    expect(runLab(['apply', '--name', first, '-f', example])).toMatchObject({ code: 0, stderr: '' });
    await waitFor(
      'the first delivery',
      async () =>
        runLab(['probe', '--name', first, 'client-a', 'udp://203.0.113.9:3000']).code === 0 ? true : undefined,
      { timeoutMs: 5000 },
    );
    const { stdout } = runLab(['probe', '--name', first, 'client-a', 'udp://203.0.113.9:3000']);
    expect(stdout).toMatch(
      /answered from 203\.0\.113\.9:3000 in .*\npod gameserver-0 on worker-b saw the client as 198\.51\.100\.7:/,
    );
    expect(runLab(['get', 'portmaps', '--name', first]).stdout).toMatch(
      /games +gameserver +public +UDP +3000 +gameserver-0 +True .*203\.0\.113\.9/,
    );
    expect(runLab(['logs', 'edge-a', '--name', first]).stdout).toContain('"msg":"applied"');
  });

  test('says so when nothing answers, with an exit status', () => {
    expect(runLab(['probe', '--name', first, 'client-a', 'tcp://203.0.113.9:3999'])).toMatchObject({
      code: 1,
      stdout: 'client-a -> tcp://203.0.113.9:3999: refused (ECONNREFUSED)\n',
    });
  });

  test("runs a command on a host in that host's network, and passes on its exit status", () => {
    expect(
      runLab(['exec', '--name', first, 'worker-b', '--', 'ip', '-brief', 'address', 'show', 'wt0']).stdout,
    ).toContain('100.64.93.144/16');
    expect(runLab(['exec', '--name', first, 'worker-b', '--', 'sh', '-c', 'exit 7']).code).toBe(7);
  });

  test('kubectl works in it with the kubeconfig it gives', () => {
    const { stdout: config } = runLab(['kubeconfig', '--name', first]);
    const path = file('kubeconfig', config);
    const kubectl = (...args: string[]) =>
      runLab(['exec', '--name', first, 'control', '--', 'kubectl', '--kubeconfig', path, ...args]);
    expect(kubectl('get', 'nodes').stdout).toContain('worker-c');
    expect(
      kubectl('wait', '--for=condition=Programmed', '--timeout=5s', '-n', 'games', 'portmap/gameserver').code,
    ).toBe(0);
  });

  test('another one beside it does not meet it', () => {
    expect(runLab(['up', '--name', second])).toMatchObject({ code: 0 });
    expect(runLab(['probe', '--name', second, 'client-a', 'udp://203.0.113.9:3000']).code).toBe(1);
    expect(runLab(['probe', '--name', first, 'client-a', 'udp://203.0.113.9:3000']).code).toBe(0);
    expect(runLab(['gc']).stdout).toMatch(new RegExp(`up: ${first} [^]*up: ${second} `));
  });

  test('ends with its holder, however that dies, and the name is free again', async () => {
    const record = readHolderRecord(join(labsFolder(), second));
    process.kill(record?.pid ?? 0, 'SIGKILL');
    await waitFor('its processes to be gone', async () => (processesOf(second).length === 0 ? true : undefined), {
      timeoutMs: 5000,
    });
    runLab(['gc']);
    expect(existsSync(join(labsFolder(), second))).toBe(false);
    expect(runLab(['status', '--name', second])).toMatchObject({ code: 2 });
  });
});

describe('bad input gets a clear error and exit status 2', () => {
  const manifest = (change: (text: string) => string): string =>
    file(
      'manifest.yaml',
      change(
        'apiVersion: kuport.wlz.li/v1alpha1\nkind: PortMap\nmetadata:\n  name: x\n  namespace: games\nspec:\n  className: public\n  protocol: UDP\n  port: 3001\n  serviceRef: { name: gameserver, port: game }\n',
      ),
    );
  test.each<[string, () => string[], RegExp]>([
    [
      'a lab name that is taken',
      () => ['up', '--name', first],
      new RegExp(`a lab named "${first}" is already up .*lab down --name ${first}`),
    ],
    [
      'a lab name that cannot be one',
      () => ['up', '--name', 'No Spaces'],
      /lab name "No Spaces": use 1 to 31 of a-z, 0-9 and -/,
    ],
    [
      'a topology that is not there',
      () => ['up', 'nowhere', '--name', second],
      /cannot read topology .*nowhere\.yaml: ENOENT.*home-edge/,
    ],
    [
      'an unknown field',
      () => ['up', file('t.yaml', 'name: x\nmush: 1\n'), '--name', second],
      /t\.yaml:2: mush = 1: no such field/,
    ],
    [
      'a lab that is not up',
      () => ['status', '--name', second],
      new RegExp(`no lab named "${second}" is up \\(up are .*${first}`),
    ],
    [
      'a host that is not there',
      () => ['probe', '--name', first, 'client-z', 'udp://203.0.113.9:3000'],
      /no host is named "client-z" in this lab: there are internet, .*client-a, client-b/,
    ],
    [
      'a target that is none',
      () => ['probe', '--name', first, 'client-a', '203.0.113.9:3000'],
      /"203\.0\.113\.9:3000" is no target: write udp:\/\/203\.0\.113\.9:3000/,
    ],
    [
      'a manifest that is not there',
      () => ['apply', '--name', first, '-f', '/nowhere.yaml'],
      /cannot read manifests from \/nowhere\.yaml: ENOENT/,
    ],
    [
      'a manifest that is no YAML',
      () => ['apply', '--name', first, '-f', file('m.yaml', 'a: [\n')],
      /m\.yaml:\d+:\d+: document 1: /,
    ],
    [
      'a mapping of no class',
      () => ['apply', '--name', first, '-f', manifest((text) => text.replace('public', 'pubic'))],
      /manifest\.yaml:7: PortMap x: spec\.className = "pubic": no PortMapClass has that name \(there are public\): correct it/,
    ],
    [
      'a value the API refuses',
      () => ['apply', '--name', first, '-f', manifest((text) => text.replace('3001', '70000'))],
      /manifest\.yaml:9: PortMap x: .*spec\.port: .*70000.*65535/,
    ],
    [
      'a field the API does not know',
      () => ['apply', '--name', first, '-f', manifest((text) => text.replace('port: 3001', 'prot: 3001'))],
      /manifest\.yaml:1: PortMap x: .*unknown field "spec\.prot"/,
    ],
    [
      'a kind the API does not serve',
      () => ['get', 'unicorns', '--name', first],
      /serves no "unicorns": it serves .*portmaps/,
    ],
    ['a command that is none', () => ['upp'], /unknown command 'upp'/],
  ])('%s', (_, args, message) => {
    const { code, stderr } = runLab(args());
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
    expect(existsSync(join(labsFolder(), second))).toBe(false);
  });

  test('a machine without the tools: what is missing, what for, and the one command that brings it', () => {
    // As an ordinary user, on a machine that has nothing but Node.
    const { code, stderr } = asNobody(['preflight'], { PATH: scratch, KUPORT_TOOL_FOLDERS: scratch });
    expect(stderr).toContain("nft (kuport's rules, NAT routers, counters)");
    expect(stderr).toMatch(/On Debian or Ubuntu: sudo apt-get install -y .*nftables.*wireguard-go/);
    expect(code).toBe(2);
  });
});

/** The programs where everyone can read them: a checkout may lie in a folder that only its owner enters. */
function publicCopy(): string {
  const copy = join(scratch, 'copy');
  if (!existsSync(copy)) {
    mkdirSync(copy);
    for (const part of ['dist', 'crds', 'package.json', 'lab/topologies', 'lab/cni/reference']) {
      cpSync(join(projectRoot, part), join(copy, part), { recursive: true });
    }
    chmodSync(scratch, 0o755);
  }
  return copy;
}

/** With udev /dev/net/tun is everyone's; without it the kernel leaves it to root. */
const withTun = (mode: string): string[] => [
  ...['unshare', '--mount', 'sh', '-c'],
  `mount -t tmpfs none /dev/net && mknod -m ${mode} /dev/net/tun c 10 200 && exec "$@"`,
  'nobody',
];

function asNobody(
  args: readonly string[],
  env: Record<string, string> = {},
  tunMode = '666',
): { code: number | null; stdout: string; stderr: string } {
  const become = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
  const nobody = process.getuid?.() === 0 ? [...withTun(tunMode), ...become] : [];
  // The variables are set for the command only: PATH still has to find setpriv.
  const variables = Object.entries({ NO_COLOR: '1', HOME: '/nonexistent', ...env }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const command = [...nobody, 'env', ...variables, process.execPath, join(publicCopy(), 'dist/lab.js'), ...args];
  const [program = '', ...rest] = command;
  const result = spawnSync(program, rest, { encoding: 'utf8', timeout: 60_000, cwd: '/' });
  return { code: result.status, stdout: result.stdout, stderr: result.stderr };
}

test.runIf(process.getuid?.() === 0)(
  'a /dev/net/tun that only root may open is named before anything is started',
  () => {
    const { code, stderr } = asNobody(['preflight'], {}, '600');
    expect(stderr).toContain('/dev/net/tun is closed to this user (mode 0600)');
    expect(stderr).toContain('sudo chmod 0666 /dev/net/tun');
    expect(code).toBe(2);
  },
);

test('everything works without being root', () => {
  const report = join(tmpdir(), `kuport-test-report-${process.pid}`);
  const { code, stdout, stderr } = asNobody([
    'scenarios',
    'single/cross-node',
    'ablation/no-loop-guard',
    '--report',
    report,
  ]);
  expect(stdout + stderr).toContain('2 passed, 0 failed');
  expect(code).toBe(0);
  rmSync(report, { recursive: true, force: true });
}, 60_000);

test('after `lab down` the host is as it was', async () => {
  expect(runLab(['down', '--name', first])).toMatchObject({ code: 0, stdout: `lab "${first}" is down\n` });
  await waitFor('its processes to be gone', async () => (processesOf(first).length === 0 ? true : undefined), {
    timeoutMs: 5000,
  });
  expect(existsSync(join(labsFolder(), first))).toBe(false);
  expect(await hostState()).toBe(before);
});
