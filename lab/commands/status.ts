/** `lab status`: what a lab consists of and whether it is well. */
import { isApiUp } from '../control-plane.ts';
import type { Lab } from '../lab.ts';
import { formatDuration } from '../terminal/duration.ts';
import { formatTable } from '../terminal/table.ts';
import { openTerminal, type Terminal } from '../terminal/terminal.ts';
import { readNodeVersions } from './versions.ts';

interface HostRow {
  name: string;
  role: string;
  site: string;
  nat: string;
  address: string;
  meshAddress: string;
  podCidr: string;
  state: string;
}

async function hostRows(lab: Lab): Promise<HostRow[]> {
  const { topology } = lab;
  const nat = new Map(topology.sites.map((site) => [site.name, site.nat]));
  const natOf = (site: string): string => nat.get(site) ?? '';
  const nodes = await Promise.all(
    topology.nodes.map(async (node) => ({
      ...node,
      role: 'node',
      nat: natOf(node.site),
      state: await agentState(lab, node.name),
    })),
  );
  const rest = { meshAddress: '', podCidr: '' };
  return [
    {
      ...rest,
      ...topology.control,
      role: 'control',
      nat: natOf(topology.control.site),
      state: (await isApiUp(lab.cluster)) ? 'API up' : 'API down',
    },
    ...nodes,
    ...topology.clients.map((client) => ({ ...rest, ...client, role: 'client', nat: natOf(client.site), state: '' })),
  ];
}

async function agentState(lab: Lab, node: string): Promise<string> {
  const pid = lab.state.agents[node];
  if (pid === undefined) return 'no agent';
  const { code } = await lab.host(node).exec(['kill', '-0', String(pid)], { allowFailure: true });
  return code === 0 ? 'agent runs' : 'agent has ended';
}

export async function printStatus(lab: Lab, terminal: Terminal): Promise<void> {
  const rows = await hostRows(lab);
  const { topology } = lab.state;
  const versions = new Map((await readNodeVersions(lab)).map((each) => [each.host, each]));
  const substance = new Map(lab.state.hosts.map((host) => [host.name, host.substance]));
  const titles = ['HOST', 'ROLE', 'MADE OF', 'SITE', 'NAT', 'ADDRESS', 'MESH', 'PODS', 'STATE'];
  const columns = titles.map((title) => ({ title }));
  terminal.line();
  terminal.line(
    formatTable(
      terminal,
      columns,
      rows.map((row) => [
        ...[row.name, row.role, substance.get(row.name) ?? '', row.site, row.nat],
        ...[row.address, row.meshAddress, row.podCidr, row.state],
      ]),
    ),
  );
  terminal.line(
    formatTable(
      terminal,
      ['NODE', 'KERNEL', 'WIREGUARD', 'NFT', 'IPROUTE2'].map((title) => ({ title })),
      [...versions.values()].map(({ host, kernel, wireguard, nft, iproute2 }) => [
        ...[host, kernel, wireguard, nft, iproute2],
      ]),
    ),
  );
  terminal.line(
    `lab "${lab.state.name}", topology ${topology.name}, mesh ${topology.mesh.interface}, backend ${lab.state.backend}`,
  );
}

export async function statusCommand(lab: Lab, json: boolean): Promise<number> {
  if (json) {
    const { adminKubeconfig: _, ...state } = lab.state;
    process.stdout.write(
      `${JSON.stringify({ ...state, rows: await hostRows(lab), versions: await readNodeVersions(lab) }, null, 2)}\n`,
    );
  } else {
    const terminal = openTerminal();
    await printStatus(lab, terminal);
    const total = lab.state.phases.reduce((sum, phase) => sum + phase.milliseconds, 0);
    terminal.line(
      `up since ${lab.state.startedAt}, took ${formatDuration(total)}: ${lab.state.phases.map((phase) => `${phase.name} ${formatDuration(phase.milliseconds)}`).join(', ')}`,
    );
  }
  lab.disconnect();
  return 0;
}
