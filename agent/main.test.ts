import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kuport-test-'));
  await build({
    entryPoints: [fileURLToPath(new URL('main.ts', import.meta.url))],
    outfile: join(folder, 'agent.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
});

afterAll(() => rm(folder, { recursive: true }));

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

function agent(...args: string[]): Promise<Result> {
  const { KUBERNETES_SERVICE_HOST: _, NODE_NAME: __, ...env } = process.env;
  return new Promise((resolve) => {
    execFile(process.execPath, [join(folder, 'agent.mjs'), ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
}

const manifests = `
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: Namespace, metadata: { name: games } }
  - { apiVersion: v1, kind: Node, metadata: { name: edge-a }, status: { addresses: [{ type: InternalIP, address: 100.64.93.143 }], conditions: [{ type: Ready, status: "True" }] } }
---
apiVersion: kuport.wlz.li/v1alpha1
kind: PortMapClass
metadata: { name: public }
spec: { nodes: { edge-a: { interfaces: [enp1s0] } }, returnPath: { mode: None } }
status: { nodes: [{ name: edge-a, ready: true, message: "", addresses: { enp1s0: 203.0.113.9 } }] }
---
apiVersion: kuport.wlz.li/v1alpha1
kind: PortMap
metadata: { name: quake, namespace: games }
spec: { className: public, protocol: UDP, port: 3000, serviceRef: { name: quake, port: game } }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: quake-1, namespace: games, labels: { kubernetes.io/service-name: quake } }
addressType: IPv4
ports: [{ name: game, port: 3000, protocol: UDP }]
endpoints: [{ addresses: [10.244.1.7], nodeName: edge-a, targetRef: { kind: Pod, name: quake-0 } }]
`;

test('render prints what the node would hold', async () => {
  const file = join(folder, 'manifests.yaml');
  await writeFile(file, manifests);
  const { code, stdout } = await agent('render', '-f', file, '--node', 'edge-a');
  expect(code).toBe(0);
  expect(stdout).toContain('"enp1s0" . udp . 3000 comment "games/quake" : 10.244.1.7 . 3000');
  expect(stdout).toContain('203.0.113.9');
});

test.each([
  ['a: [', /bad\.yaml:\d+: /],
  ['kind: Node\n---\njust text\n', /bad\.yaml:3: no Kubernetes object/],
])('render refuses %j, naming file and line, with exit code 2', async (text, message) => {
  const file = join(folder, 'bad.yaml');
  await writeFile(file, text);
  const { code, stderr } = await agent('render', '-f', file, '--node', 'edge-a');
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});

test.each([
  [['render', '-f', '/nowhere.yaml', '--node', 'a'], 'cannot read /nowhere.yaml'],
  [['run'], "required option '--node <name>'"],
  [['run', '--node', 'a'], 'not in a pod'],
  [['run', '--node', 'a', '--kubeconfig', '/nowhere'], '--kubeconfig /nowhere: ENOENT'],
  [['run', '--node', 'a', '--health-port', '70000'], 'a port is a number from 0 to 65535'],
  [['run', '--node', 'a', '--log-level', 'loud'], 'Allowed choices'],
  [['dance'], "unknown command 'dance'"],
])('%j: exit code 2, and says %j', async (args, message) => {
  const { code, stderr } = await agent(...args);
  expect(stderr).toContain(message);
  expect(code).toBe(2);
});
