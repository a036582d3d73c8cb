/** After a scenario no node may hold anything of kuport's: the next one starts from nothing, and removal is a promise too. */
import type { Lab } from '../lab.ts';
import { waitFor } from '../wait.ts';

/** Prints what is ours on a node; nothing on a clean one. One process per node and look. */
const leftovers = `nft list table ip kuport 2>/dev/null | head -3
ip -brief link show type vxlan | grep '^kup-'
ip rule show | grep 'proto 107'
ip route show table all proto 107
true`;

const cleanMs = 3000;

/** @throws Error naming the node and what is left on it */
export async function awaitCleanHosts(lab: Lab): Promise<void> {
  if (Object.keys(lab.agents.pids).length === 0) return;
  await Promise.all(
    lab.topology.nodes.map((node) =>
      waitFor(
        `${node.name} to hold nothing of kuport's once the last mapping is gone`,
        async () => {
          const { stdout } = await lab.host(node.name).exec(['sh', '-c', leftovers]);
          if (stdout.trim() === '') return true;
          throw new Error(`it still holds\n${stdout.trim()}`);
        },
        { timeoutMs: lab.pace.time(cleanMs) },
      ),
    ),
  );
}
