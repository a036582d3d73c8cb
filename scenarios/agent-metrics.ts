/** What the agent of a node says of itself at /metrics. */
import { agentHealthPort } from '../lab/agents.ts';
import type { ScenarioContext } from '../lab/scenario/context.ts';

/** The sum of a metric's samples whose labels contain `label`; 0 where there is none. */
export async function agentMetric(t: ScenarioContext, node: string, name: string, label = ''): Promise<number> {
  const host = t.host(node);
  const script = `fetch('http://127.0.0.1:${agentHealthPort}/metrics').then(async (r) => console.log(await r.text()))`;
  const { stdout } = await host.exec([host.installation.node, '-e', script]);
  const samples = stdout
    .split('\n')
    .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(label));
  return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
