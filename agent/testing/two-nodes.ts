/**
 * Two nodes, a client and the pods of a mapping, each in a network namespace, with an API server they all reach:
 *
 *   client 198.51.100.7 --- internet --- enp1s0 203.0.113.9 edge-a wt0 100.64.93.143 --- mesh --- wt0 .145 worker-b
 *
 * worker-b's default route leads to the internet directly: a reply that does not go back over the link arrives from the
 * wrong address.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { TestApiServer } from '../cluster/testing/api-server.ts';
import { TestNamespace } from '../datapath/testing/namespace.ts';

export type NodeName = 'edge-a' | 'worker-b';

const group = '/apis/kuport.wlz.li/v1alpha1';

export const paths = {
  class: `${group}/portmapclasses/public`,
  portMap: `${group}/namespaces/games/portmaps/quake`,
  slice: '/apis/discovery.k8s.io/v1/namespaces/games/endpointslices/quake-1',
};

const pods: Record<NodeName, string> = { 'edge-a': '10.244.1.7', 'worker-b': '10.244.2.9' };

/** A device of a namespace with an address, its other end in the root namespace. */
function cable(namespace: string, device: string, address: string, outside: string, rest = ''): string {
  const outer = `${namespace.slice(0, 6)}-${device}`;
  return [
    `ip link add ${outer} type veth peer name ${device} netns ${namespace}`,
    `ip -n ${namespace} addr add ${address} dev ${device}`,
    `ip -n ${namespace} link set ${device} up`,
    `ip link set ${outer} up ${rest}`,
    outside === '' ? 'true' : `ip addr add ${outside} dev ${outer}`,
  ].join(' && ');
}

const topology = [
  'mount -t tmpfs none /run',
  'sysctl -qw net.ipv4.ip_forward=1',
  'for n in client edge-a worker-b pod-a pod-b; do ip netns add $n; ip -n $n link set lo up; done',
  'ip link add mesh type bridge && ip link set mesh up && ip addr add 100.64.93.1/24 dev mesh',
  cable('client', 'eth0', '198.51.100.7/24', '198.51.100.1/24'),
  'ip -n client route add default via 198.51.100.1',
  cable('edge-a', 'enp1s0', '203.0.113.9/24', '203.0.113.1/24'),
  'ip -n edge-a route add default via 203.0.113.1',
  cable('edge-a', 'wt0', '100.64.93.143/24', '', 'master mesh'),
  cable('worker-b', 'eth0', '192.168.1.10/24', '192.168.1.1/24'),
  'ip -n worker-b route add default via 192.168.1.1',
  cable('worker-b', 'wt0', '100.64.93.145/24', '', 'master mesh'),
  ...(['edge-a', 'worker-b'] as const).flatMap((node) => {
    const pod = node === 'edge-a' ? 'pod-a' : 'pod-b';
    return [
      `ip -n ${node} link add ${pod} type veth peer name eth0 netns ${pod}`,
      `ip -n ${node} link set ${pod} up`,
      `ip -n ${pod} addr add ${pods[node]}/32 dev eth0`,
      `ip -n ${pod} link set eth0 up`,
      `ip -n ${pod} route add 169.254.1.1 dev eth0 && ip -n ${pod} route add default via 169.254.1.1`,
      `ip -n ${node} addr add 169.254.1.1/32 dev ${pod} && ip -n ${node} route add ${pods[node]} dev ${pod}`,
      `ip netns exec ${node} sysctl -qw net.ipv4.ip_forward=1`,
      // Somebody else's nat table, as on every node: alone, ours would end all translation when it goes.
      `ip netns exec ${node} nft "add table ip other; add chain ip other c { type nat hook prerouting priority 0; }"`,
      `ip netns exec ${pod} node -e 'const s = require("dgram").createSocket("udp4"); s.on("message", (m, r) => s.send(m + " ${pod} saw " + r.address + ":" + r.port, r.port, r.address)); s.bind(3000)' > /dev/null 2>&1 &`,
    ];
  }),
];

export class TwoNodes {
  readonly namespace: TestNamespace;
  readonly server: TestApiServer;

  private constructor(namespace: TestNamespace, server: TestApiServer) {
    this.namespace = namespace;
    this.server = server;
  }

  static async start(): Promise<TwoNodes> {
    const namespace = await TestNamespace.start();
    const { folder } = namespace;
    const [server] = await Promise.all([
      TestApiServer.start(join(folder, 'api')),
      build({
        entryPoints: [fileURLToPath(new URL('../main.ts', import.meta.url))],
        outfile: join(folder, 'agent.mjs'),
        bundle: true,
        platform: 'node',
        format: 'esm',
        banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
      }),
      namespace.sh(topology.join('\n')),
      writeFile(
        join(folder, 'relay.mjs'),
        `import net from 'node:net'; net.createServer((a) => { const b = net.connect('${join(folder, 'api')}'); a.pipe(b).pipe(a); a.on('error', () => b.destroy()); b.on('error', () => a.destroy()); }).listen(6443);`,
      ),
    ]);
    await namespace.sh(`node ${folder}/relay.mjs > /dev/null 2>&1 &`);
    await writeFile(join(folder, 'kubeconfig'), server.kubeconfig('http://100.64.93.1:6443'));
    const nodes = new TwoNodes(namespace, server);
    nodes.#applyObjects();
    return nodes;
  }

  async stop(): Promise<void> {
    await this.namespace.stop();
    await this.server.stop();
  }

  #applyObjects(): void {
    const conditions = [{ type: 'Ready', status: 'True' }];
    for (const [name, address] of [
      ['edge-a', '100.64.93.143'],
      ['worker-b', '100.64.93.145'],
    ] as const) {
      const status = { addresses: [{ type: 'InternalIP', address }], conditions };
      this.server.apply(`/api/v1/nodes/${name}`, { metadata: { name }, status });
    }
    this.server.apply('/api/v1/namespaces/games', { metadata: { name: 'games' } });
    this.server.apply('/api/v1/namespaces/games/services/quake', {
      metadata: { name: 'quake', namespace: 'games' },
      spec: { ports: [{ name: 'game', port: 3000, protocol: 'UDP' }] },
    });
    this.server.apply(paths.class, {
      apiVersion: 'kuport.wlz.li/v1alpha1',
      kind: 'PortMapClass',
      metadata: { name: 'public', generation: 1 },
      spec: { nodes: { 'edge-a': { interfaces: ['enp1s0'] } }, returnPath: { mode: 'Vxlan' } },
    });
    this.server.apply(paths.portMap, {
      apiVersion: 'kuport.wlz.li/v1alpha1',
      kind: 'PortMap',
      metadata: { name: 'quake', namespace: 'games', generation: 1 },
      spec: { className: 'public', protocol: 'UDP', port: 3000, serviceRef: { name: 'quake', port: 'game' } },
    });
  }

  /** The one endpoint of the mapping's Service from now on; null: none. */
  placePod(node: NodeName | null): void {
    this.server.apply(paths.slice, {
      metadata: { name: 'quake-1', namespace: 'games', labels: { 'kubernetes.io/service-name': 'quake' } },
      addressType: 'IPv4',
      ports: [{ name: 'game', port: 3000, protocol: 'UDP' }],
      endpoints:
        node === null
          ? []
          : [{ addresses: [pods[node]], nodeName: node, targetRef: { kind: 'Pod', name: `quake-on-${node}` } }],
    });
  }

  async startAgent(node: NodeName): Promise<void> {
    const { folder } = this.namespace;
    await this.namespace.sh(
      `ip netns exec ${node} node ${folder}/agent.mjs run --node ${node} --kubeconfig ${folder}/kubeconfig >> ${folder}/log.${node} 2>&1 & echo $! > ${folder}/pid.${node}`,
    );
  }

  async signalAgent(node: NodeName, signal: string): Promise<void> {
    await this.namespace.sh(`kill -${signal} $(cat ${this.namespace.folder}/pid.${node})`);
  }

  /** Lines of an agent's log so far. */
  async log(node: NodeName): Promise<{ msg: string; [field: string]: unknown }[]> {
    const text = await this.namespace.sh(`cat ${this.namespace.folder}/log.${node}`);
    return text
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { msg: string });
  }

  /** What the client hears of one datagram sent from a port of its own: `text from sender`, or `nothing`. */
  async ask(text: string, fromPort: number, waitMs = 500): Promise<string> {
    const program = `const s = require("dgram").createSocket("udp4"); s.on("message", (m, r) => { console.log(m + " from " + r.address + ":" + r.port); s.close(); clearTimeout(t); }); const t = setTimeout(() => { console.log("nothing"); s.close(); }, ${waitMs}); s.bind(${fromPort}, () => s.send("${text}", 3000, "203.0.113.9"))`;
    return (await this.namespace.sh(`ip netns exec client node -e '${program}'`)).trim();
  }

  /** One datagram every 10 ms from one port. @returns how many were sent and how many answered */
  async steadyFlow(fromPort: number, seconds: number): Promise<{ sent: number; answered: number }> {
    const program = `const s = require("dgram").createSocket("udp4"); let sent = 0, answered = 0; s.on("message", () => answered++); s.bind(${fromPort}, () => { const i = setInterval(() => { sent++; s.send("x", 3000, "203.0.113.9"); }, 10); setTimeout(() => { clearInterval(i); setTimeout(() => { console.log(JSON.stringify({ sent, answered })); s.close(); }, 300); }, ${seconds * 1000}); })`;
    return JSON.parse(await this.namespace.sh(`ip netns exec client node -e '${program}'`)) as {
      sent: number;
      answered: number;
    };
  }
}
