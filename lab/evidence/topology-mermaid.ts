/** The topology as Mermaid text, which GitHub and many editors draw. */
import type { TopologyPicture } from './topology-picture.ts';

/** A `flowchart`: sites as subgraphs, WireGuard dashed. Identifiers are numbered, so that any name is allowed. */
export function topologyMermaid(topology: TopologyPicture): string {
  const lines = ['flowchart TB', '  internet(["internet"])'];
  const { mesh } = topology;
  const meshLinks: string[] = [];

  topology.clients.forEach((client, index) => {
    if (client.site !== undefined) return;
    lines.push(`  client${index}("${label(client.name, client.address)}")`, `  client${index} --- internet`);
  });
  topology.sites.forEach((site, siteIndex) => {
    const uplink = site.router ? `router${siteIndex}` : 'internet';
    const inside: string[] = [];
    const links: string[] = [];
    if (site.router) {
      const { name, nat, wanAddress, lanAddress } = site.router;
      inside.push(`${uplink}{{"${label(name, `${nat} NAT`, `wan ${wanAddress}`, `lan ${lanAddress}`)}"}}`);
      links.push(`internet --- ${uplink}`);
    }
    topology.nodes.forEach((node, index) => {
      if (node.site !== site.name) return;
      const details = [
        `${node.interface} ${node.address}`,
        ...(node.meshAddress ? [`${mesh?.interface ?? 'mesh'} ${node.meshAddress}`] : []),
        ...(node.podCidr ? [`pods ${node.podCidr}`] : []),
      ];
      inside.push(`node${index}["${label(node.name, ...details)}"]`);
      links.push(`${uplink} --- node${index}`);
      if (mesh && node.meshAddress) meshLinks.push(`  node${index} -.- mesh`);
    });
    topology.clients.forEach((client, index) => {
      if (client.site !== site.name) return;
      inside.push(`client${index}("${label(client.name, client.address)}")`);
      links.push(`${uplink} --- client${index}`);
    });
    lines.push(`  subgraph site${siteIndex} ["${text(site.lan ? `${site.name} ${site.lan}` : site.name)}"]`);
    lines.push(...inside.map((line) => `    ${line}`), '  end', ...links.map((line) => `  ${line}`));
  });
  if (mesh) {
    const implementation = mesh.implementation === 'kernel' ? 'kernel WireGuard' : mesh.implementation;
    lines.push(`  mesh(["${text(`mesh ${mesh.interface}, ${implementation}, MTU ${mesh.mtu}`)}"])`, ...meshLinks);
  }
  return `${lines.join('\n')}\n`;
}

function label(name: string, ...details: string[]): string {
  return [`<b>${text(name)}</b>`, ...details.map(text)].join('<br/>');
}

/** Mermaid's own entities, the only escape it knows inside quotes. */
function text(value: string): string {
  return value
    .replaceAll('#', '#35;')
    .replaceAll('"', '#quot;')
    .replaceAll('<', '#lt;')
    .replaceAll('>', '#gt;')
    .replaceAll('\n', ' ');
}
