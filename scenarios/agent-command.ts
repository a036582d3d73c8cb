/** The agent's other commands on a node, as an operator runs them there. */
import { kubeconfigPath } from '../lab/agents.ts';
import type { ScenarioContext } from '../lab/scenario/context.ts';

export interface CommandResult {
  code: string;
  stdout: string;
}

/** Runs `kuport-agent <words>` on a node, whatever its exit code is. */
export async function agentCommand(t: ScenarioContext, node: string, words: readonly string[]): Promise<CommandResult> {
  const { installation } = t.host(node);
  const argv = [...installation.node, `${installation.root}/dist/agent.js`, ...words];
  const { stdout } = await t.host(node).exec(['sh', '-c', '"$@"; echo "exit $?"', 'agent', ...argv]);
  const [, text = '', code = ''] = /^([\s\S]*?)exit (\d+)\n$/.exec(stdout) ?? [];
  return { code, stdout: text };
}

export interface Finding {
  check: string;
  status: 'ok' | 'warning' | 'failed';
  found: string;
}

/** What `check --json` finds on a node that is not well, and its exit code. */
export async function findingsOn(t: ScenarioContext, node: string): Promise<{ code: string; findings: Finding[] }> {
  const kubeconfig = kubeconfigPath(node);
  const { code, stdout } = await agentCommand(t, node, ['check', '--json', '--node', node, '--kubeconfig', kubeconfig]);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings: findings.filter((each) => each.status !== 'ok') };
}
