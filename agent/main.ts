/**
 * The `kuport-agent` command: wiring only. A command loads what it needs when it is called: an agent that runs has no use for
 * a YAML parser.
 * Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 the node is not fit for kuport.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { CheckOptions } from './commands/check.ts';
import { InputError } from './commands/input-error.ts';
import type { RenderOptions } from './commands/render.ts';
import type { RunOptions } from './commands/run.ts';

function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65535)
    throw new InvalidArgumentError('a port is a number from 0 to 65535.');
  return value;
}

const program = new Command('kuport-agent').description(
  "Delivers a port of this node to a pod on any node, keeping the client's source address.",
);
program.exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));

program
  .command('run')
  .description('watch the cluster and keep this node as it asks')
  .addOption(new Option('--node <name>', 'name of the Node object').env('NODE_NAME').makeOptionMandatory())
  .option('--kubeconfig <file>', "kubeconfig file (default: the pod's service account)")
  .addOption(
    new Option('--log-level <level>').choices(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).default('info'),
  )
  .option('--health-port <port>', 'port of /healthz and /readyz; 0: none', port, 0)
  .action(async (options: RunOptions) => (await import('./commands/run.ts')).runAgent(options));

program
  .command('render')
  .description('print the nft text, links, rules and routes a node would hold; touches nothing')
  .requiredOption('-f, --filename <file...>', 'manifests: classes, mappings, Nodes, Services, EndpointSlices')
  .requiredOption('--node <name>', 'node to render for')
  .action(async (options: RenderOptions) => (await import('./commands/render.ts')).runRender(options));

program
  .command('check')
  .description('tell whether this node is fit for kuport; changes nothing. Exit code 3: it is not')
  .addOption(new Option('--node <name>', 'name of the Node object').env('NODE_NAME'))
  .option('--kubeconfig <file>', "kubeconfig file (default: the pod's service account, if in one)")
  .option('-f, --filename <file...>', 'manifests in place of a cluster')
  .option('--json', 'findings as JSON')
  .action(async (options: CheckOptions) => (await import('./commands/check.ts')).runCheck(options));

program
  .command('cleanup')
  .description("remove everything of kuport's from this node and print it")
  .option('--dry-run', 'only print it')
  .action(async (options: { dryRun?: boolean }) => (await import('./commands/cleanup.ts')).runCleanup(options));

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`kuport-agent: ${(error as Error).message}\n`);
  process.exitCode = error instanceof InputError ? 2 : 1;
}
