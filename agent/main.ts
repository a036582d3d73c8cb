/** kuport-agent: wiring only. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { Command } from 'commander';
import { pino } from 'pino';
import { loadCredentials } from './cluster/credentials.ts';
import { cleanup, cleanupChange } from './datapath/cleanup.ts';
import { NodeAgent } from './node-agent.ts';
import { render } from './render.ts';

const program = new Command('kuport-agent')
  .description("Delivers TCP and UDP ports of this node to pods on any node, with the client's address intact")
  .showHelpAfterError();

program
  .command('run')
  .description('watch the cluster and keep this node in line with it')
  .option('--node <name>', "this node's name in the cluster", process.env.NODE_NAME ?? hostname())
  .option('--kubeconfig <file>', "credentials; without it the pod's ServiceAccount", process.env.KUBECONFIG)
  .option('--log-level <level>', 'trace, debug, info, warn or error', 'info')
  .action((options: { node: string; kubeconfig?: string; logLevel: string }) => {
    const log = pino({ level: options.logLevel, base: { node: options.node } });
    const agent = new NodeAgent({ node: options.node, credentials: loadCredentials(options.kubeconfig), log });
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        // The datapath stays: flows must not notice an upgrade. Removal is `cleanup`.
        log.info({ signal }, 'stopped, the datapath stays');
        agent.stop();
        process.exit(0);
      });
    }
    agent.start();
  });

program
  .command('render')
  .description('print the rules, links and routes that manifests would give a node; touches nothing')
  .requiredOption('-f, --filename <file>', 'manifests: nodes, classes, mappings, Services, EndpointSlices, HostFacts')
  .requiredOption('--node <name>', 'the node to render for')
  .action((options: { filename: string; node: string }) => {
    const { nft, ip } = render(readFileSync(options.filename, 'utf8'), options.node);
    process.stdout.write(`# nft -f -\n${nft}# ip -batch -\n${ip}`);
  });

program
  .command('cleanup')
  .description("remove everything of kuport's from this node")
  .option('--dry-run', 'only print what would be removed', false)
  .action(async (options: { dryRun: boolean }) => {
    const change = options.dryRun ? await cleanupChange() : await cleanup();
    const lines = [...change.nft.split('\n'), ...change.ipAfter].filter((line) => line !== '');
    process.stdout.write(lines.length === 0 ? 'nothing of kuport here\n' : `${lines.join('\n')}\n`);
  });

program.parseAsync().catch((error: Error) => {
  process.stderr.write(`kuport-agent: ${error.message}\n`);
  process.exit(1);
});
