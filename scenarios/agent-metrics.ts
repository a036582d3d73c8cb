/** What the agent of a node says of itself at /metrics. */
import { agentHealthPort } from '../lab/agents.ts';
import type { ScenarioContext } from '../lab/scenario/context.ts';

// Not fetch: it needs WebAssembly, which emulated machines run without.
const printMetrics = `require('http').get('http://127.0.0.1:${agentHealthPort}/metrics', (r) => r.pipe(process.stdout))`;

/** The sum of a metric's samples whose labels contain `label`; 0 where there is none. */
export async function agentMetric(t: ScenarioContext, node: string, name: string, label = ''): Promise<number> {
  const host = t.host(node);
  const { stdout } = await host.exec([...host.installation.node, '-e', printMetrics]);
  const samples = stdout
    .split('\n')
    .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(label));
  return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
