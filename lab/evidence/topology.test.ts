import { describe, expect, it } from 'vitest';
import { EXAMPLE_TOPOLOGY } from './testing/example-run.ts';
import { elementsNamed, parseXml } from './testing/parse-xml.ts';
import { narrowLayout, type TopologyLayout, wideLayout } from './topology-layout.ts';
import { topologyMermaid } from './topology-mermaid.ts';
import type { TopologyPicture } from './topology-picture.ts';
import { topologySvg } from './topology-svg.ts';

const manyNodes: TopologyPicture = {
  ...EXAMPLE_TOPOLOGY,
  nodes: Array.from({ length: 12 }, (_, index) => ({
    name: `worker-${index}`,
    site: index % 2 ? 'home-b' : 'datacenter-1',
    interface: 'eth0',
    address: `192.168.1.${20 + index}`,
    meshAddress: `100.64.0.${index}`,
    podCidr: `10.244.${index}.0/24`,
  })),
};

/** A client that has a public site of its own instead of none. */
const clientSite: TopologyPicture = {
  ...EXAMPLE_TOPOLOGY,
  sites: [{ name: 'carrier', kind: 'public' }, ...EXAMPLE_TOPOLOGY.sites],
  clients: EXAMPLE_TOPOLOGY.clients.map((client) => ({ site: 'carrier', ...client })),
};

describe.each([
  ['wide, every client in a site', clientSite, wideLayout],
  ['narrow, every client in a site', clientSite, narrowLayout],
  ['wide', EXAMPLE_TOPOLOGY, wideLayout],
  ['narrow', EXAMPLE_TOPOLOGY, narrowLayout],
  ['wide, twelve nodes', manyNodes, wideLayout],
  ['narrow, twelve nodes', manyNodes, narrowLayout],
])('layout %s', (_name, topology, layoutOf) => {
  const layout: TopologyLayout = layoutOf(topology);

  it('keeps everything inside and no two boxes on one another', () => {
    for (const area of [...layout.boxes, ...layout.bands, ...layout.cards]) {
      expect(area.x).toBeGreaterThanOrEqual(0);
      expect(area.y).toBeGreaterThanOrEqual(0);
      expect(area.x + area.width).toBeLessThanOrEqual(layout.width);
      expect(area.y + area.height).toBeLessThanOrEqual(layout.height);
    }
    const solid = [...layout.boxes, ...layout.bands];
    for (const [index, one] of solid.entries()) {
      for (const other of solid.slice(index + 1)) {
        const apart =
          one.x + one.width <= other.x ||
          other.x + other.width <= one.x ||
          one.y + one.height <= other.y ||
          other.y + other.height <= one.y;
        expect(apart, `${JSON.stringify(one)} and ${JSON.stringify(other)}`).toBe(true);
      }
    }
  });

  it('has a box for every machine and a mesh wire for every mesh node', () => {
    const routers = topology.sites.filter(
      (site) => [...topology.nodes, ...topology.clients].some((member) => member.site === site.name) && site.router,
    );
    expect(layout.boxes).toHaveLength(topology.nodes.length + topology.clients.length + routers.length);
    expect(layout.wires.filter((wire) => wire.kind === 'mesh')).toHaveLength(topology.nodes.length);
  });
});

describe('the drawing', () => {
  it.each([false, true])('is a well-formed document with every name and address (narrow: %s)', (narrow) => {
    const svg = parseXml(topologySvg(EXAMPLE_TOPOLOGY, { narrow }));
    const texts = elementsNamed(svg, 'text').map((element) => element.text);
    for (const node of EXAMPLE_TOPOLOGY.nodes) {
      expect(texts).toEqual(
        expect.arrayContaining([node.name, `${node.interface} ${node.address}`, `wt0 ${node.meshAddress}`]),
      );
    }
    for (const client of EXAMPLE_TOPOLOGY.clients)
      expect(texts).toEqual(expect.arrayContaining([client.name, client.address]));
    expect(texts).toEqual(expect.arrayContaining(['symmetric NAT', 'wan 192.0.2.31', 'echo-1 10.244.19.107']));
    expect(elementsNamed(svg, 'desc')[0]?.text).toContain(
      'Site home-c behind router-c 192.0.2.31 (symmetric NAT): worker-c',
    );
  });

  it('shortens a long name, not its address', () => {
    const topology = {
      ...EXAMPLE_TOPOLOGY,
      nodes: EXAMPLE_TOPOLOGY.nodes.slice(2, 3).map((node) => ({ ...node, interface: 'enp0s31f6-and-more' })),
    };
    expect(topologySvg(topology)).toMatch(/>enp0s31f6\S*… 192\.168\.1\.20</);
  });

  it('escapes names', () => {
    const clients = [{ name: '<a & "b">', address: '198.51.100.7' }];
    const svg = parseXml(topologySvg({ ...EXAMPLE_TOPOLOGY, clients }));
    expect(elementsNamed(svg, 'text').map((element) => element.text)).toContain('<a & "b">');
  });
});

describe('Mermaid', () => {
  it('draws sites, routers, nodes and the mesh', () => {
    expect(topologyMermaid(EXAMPLE_TOPOLOGY)).toMatchInlineSnapshot(`
      "flowchart TB
        internet(["internet"])
        client0("<b>client-a</b><br/>198.51.100.7")
        client0 --- internet
        subgraph site0 ["datacenter-1"]
          node0["<b>edge-a</b><br/>enp1s0 203.0.113.9<br/>wt0 100.64.93.143<br/>pods 10.244.18.0/24"]
          node1["<b>control</b><br/>enp1s0 203.0.113.10<br/>wt0 100.64.93.140"]
        end
        internet --- node0
        internet --- node1
        subgraph site1 ["home-b 192.168.1.0/24"]
          router1{{"<b>router-b</b><br/>port-restricted NAT<br/>wan 192.0.2.21<br/>lan 192.168.1.1"}}
          node2["<b>worker-b</b><br/>eth0 192.168.1.20<br/>wt0 100.64.93.144<br/>pods 10.244.19.0/24"]
        end
        internet --- router1
        router1 --- node2
        subgraph site2 ["home-c 192.168.1.0/24"]
          router2{{"<b>router-c</b><br/>symmetric NAT<br/>wan 192.0.2.31<br/>lan 192.168.1.1"}}
          node3["<b>worker-c</b><br/>eth0 192.168.1.20<br/>wt0 100.64.93.145<br/>pods 10.244.20.0/24"]
        end
        internet --- router2
        router2 --- node3
        subgraph site3 ["datacenter-2"]
          node4["<b>edge-d</b><br/>enp1s0 203.0.113.65<br/>wt0 100.64.93.146<br/>pods 10.244.21.0/24"]
        end
        internet --- node4
        subgraph site4 ["cafe 10.9.0.0/24"]
          router4{{"<b>router-cafe</b><br/>port-restricted NAT<br/>wan 192.0.2.77<br/>lan 10.9.0.1"}}
          client1("<b>client-b</b><br/>10.9.0.7")
        end
        internet --- router4
        router4 --- client1
        mesh(["mesh wt0, wireguard-go, MTU 1420"])
        node0 -.- mesh
        node1 -.- mesh
        node2 -.- mesh
        node3 -.- mesh
        node4 -.- mesh
      "
    `);
  });

  it('escapes what would end a label', () => {
    const clients = [{ name: 'a"] --> b <i>#', address: '198.51.100.7' }];
    expect(topologyMermaid({ ...EXAMPLE_TOPOLOGY, clients })).toContain(
      '("<b>a#quot;] --#gt; b #lt;i#gt;#35;</b><br/>198.51.100.7")',
    );
  });
});
