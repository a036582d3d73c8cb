/** `lab up`: boots a lab and leaves it up. */
import type { Lab } from '../lab.ts';
import { formatDuration } from '../terminal/duration.ts';
import { Progress } from '../terminal/progress.ts';
import { openTerminal } from '../terminal/terminal.ts';
import { loadTopology } from '../topology/load.ts';
import type { BackendOptions } from './backend-options.ts';
import { boot } from './boot.ts';
import { printStatus } from './status.ts';

export async function upCommand(options: {
  topology: string;
  name: string;
  agents: boolean;
  backend: BackendOptions;
}): Promise<number> {
  const terminal = openTerminal();
  const progress = new Progress(terminal);
  const topology = loadTopology(options.topology);
  const begin = performance.now();
  const lab: Lab = await boot({ name: options.name, topology, agents: options.agents }, options.backend, progress);
  await printStatus(lab, terminal);
  const flag = options.name === 'default' ? '' : ` --name ${options.name}`;
  const [client] = topology.clients;
  const [node] = topology.nodes;
  terminal.line();
  terminal.line(`up in ${formatDuration(performance.now() - begin)}; three commands to try:`);
  terminal.line(`  lab/bin/lab apply${flag} -f docs/examples/gameserver.yaml`);
  terminal.line(`  lab/bin/lab probe${flag} ${client?.name} udp://${node?.address}:3000`);
  terminal.line(`  lab/bin/lab shell${flag} ${node?.name}`);
  await lab.letGo();
  return 0;
}
