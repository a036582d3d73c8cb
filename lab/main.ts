/** The `lab` command: wiring only. */
import { Command, Option } from 'commander';
import { agentLog } from './agents.ts';
import { labsFolder, listLabs, sweepDeadLabs } from './backends/netns/state-folder.ts';
import { defaultKernel, kernelReleases } from './backends/vm/image/kernels.ts';
import { mappingCounts } from './bench/bench.ts';
import { fewestMappings } from './bench/subject.ts';
import { applyCommand } from './commands/apply.ts';
import { addBackendOptions, type BackendOptions } from './commands/backend-options.ts';
import { benchCommand } from './commands/bench.ts';
import { reportFolder } from './commands/boot.ts';
import { getCommand } from './commands/get.ts';
import { graphCommand } from './commands/graph.ts';
import { kernelsCommand } from './commands/kernels.ts';
import { probeCommand } from './commands/probe.ts';
import { scenariosCommand } from './commands/scenarios.ts';
import { soakCommand } from './commands/soak.ts';
import { statusCommand } from './commands/status.ts';
import { traceCommand } from './commands/trace.ts';
import { upCommand } from './commands/up.ts';
import { vmImageCommand } from './commands/vm-image.ts';
import { wholeNumber } from './commands/whole-number.ts';
import { Lab } from './lab.ts';
import { preflight, widenPath } from './preflight/preflight.ts';
import { newSeed } from './random.ts';
import { formatError } from './terminal/messages.ts';
import { openTerminal } from './terminal/terminal.ts';
import { builtInTopologies } from './topology/load.ts';

/** Errors of input or machine that their message explains; anything else is ours and shows its stack. */
const explained = new Set([
  'TopologyError',
  'ManifestError',
  'PreflightError',
  'LabExistsError',
  'SetUpError',
  'ClusterError',
  'StationError',
  'MachineError',
  'ExecaError',
  'HostCommandError',
]);

// A reader that has seen enough, such as head, is no error of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

widenPath();
const program = new Command('lab')
  .description('a multi-site Kubernetes-like cluster on one Linux machine, in private namespaces')
  .showHelpAfterError('(lab --help lists the commands)');
program.exitOverride();
program.enablePositionalOptions();

const nameOption = (): Option => new Option('--name <name>', 'which lab').default('default');

async function enterHost(name: string, host: string, argv: readonly string[]): Promise<number> {
  const lab = await Lab.attach(name);
  return lab.backend.enter(host, argv);
}

/** Runs an action and ends with its exit status, whatever is still open. */
function finish<Arguments extends unknown[]>(
  action: (...args: Arguments) => Promise<number>,
): (...args: Arguments) => Promise<void> {
  return async (...args) => {
    // Should ever nothing be left to wait for while the action is not done, that must not look like a success.
    const stranded = (): void => {
      process.stderr.write('error: the command came to nothing: what it waited for is gone\n');
      process.exitCode = 1;
    };
    process.once('beforeExit', stranded);
    const code = await action(...args).finally(() => process.off('beforeExit', stranded));
    process.exitCode = code;
    // Sockets to the lab may still be open; output must be out before the end.
    process.stdout.write('', () => process.exit());
  };
}

addBackendOptions(program.command('up'))
  .argument('[topology]', `one of ${builtInTopologies().join(', ')}, or a YAML file`, 'home-edge')
  .addOption(nameOption())
  .option('--no-agents', 'leave kuport out')
  .description('boot a lab and leave it up')
  .action(
    finish((topology: string, options: { name: string; agents: boolean } & BackendOptions) =>
      upCommand({ topology, name: options.name, agents: options.agents, backend: options }),
    ),
  );

program
  .command('down')
  .addOption(nameOption())
  .description('end a lab and everything in it')
  .action(
    finish(async ({ name }: { name: string }) => {
      await (await Lab.attach(name)).down();
      process.stdout.write(`lab "${name}" is down\n`);
      return 0;
    }),
  );

program
  .command('status')
  .addOption(nameOption())
  .option('--json', 'for scripts', false)
  .description('hosts, addresses, NAT, versions, agents')
  .action(
    finish(async ({ name, json }: { name: string; json: boolean }) => statusCommand(await Lab.attach(name), json)),
  );

program
  .command('exec')
  .argument('<host>')
  .argument('<command...>')
  .addOption(nameOption())
  .passThroughOptions()
  .description('run a command on a host: lab exec edge-a -- nft list ruleset')
  .action(
    finish(async (host: string, command: string[], { name }: { name: string }) => enterHost(name, host, command)),
  );

program
  .command('shell')
  .argument('<host>')
  .addOption(nameOption())
  .description('a shell on a host')
  .action(finish(async (host: string, { name }: { name: string }) => enterHost(name, host, ['/bin/sh'])));

program
  .command('probe')
  .argument('<client>')
  .argument('<target>', 'udp://ADDRESS:PORT or tcp://ADDRESS:PORT')
  .addOption(nameOption())
  .option('--json', 'for scripts', false)
  .description('one exchange from a client: who answered, and whom did it see')
  .action(
    finish(async (client: string, target: string, { name, json }: { name: string; json: boolean }) =>
      probeCommand(await Lab.attach(name), client, target, json),
    ),
  );

program
  .command('trace')
  .argument('<client>')
  .argument('<target>', 'udp://ADDRESS:PORT or tcp://ADDRESS:PORT')
  .addOption(nameOption())
  .option('--json', 'for scripts', false)
  .description('one exchange hop by hop: which host, which rule, the addresses before and after')
  .action(
    finish(async (client: string, target: string, { name, json }: { name: string; json: boolean }) =>
      traceCommand(await Lab.attach(name), client, target, json),
    ),
  );

program
  .command('apply')
  .requiredOption('-f, --filename <file>', 'manifests; - for standard input')
  .addOption(nameOption())
  .description("objects into the lab's API")
  .action(
    finish(async ({ filename, name }: { filename: string; name: string }) =>
      applyCommand(await Lab.attach(name), filename),
    ),
  );

program
  .command('get')
  .argument('<kind>', 'portmaps, portmapclasses, pods, services, nodes ...')
  .addOption(nameOption())
  .option('--json', 'for scripts', false)
  .description("objects of the lab's API as a table")
  .action(
    finish(async (kind: string, { name, json }: { name: string; json: boolean }) =>
      getCommand(await Lab.attach(name), kind, json),
    ),
  );

program
  .command('kubeconfig')
  .addOption(nameOption())
  .description('kubeconfig of a cluster admin, for use on a host: lab exec control -- kubectl --kubeconfig FILE ...')
  .action(
    finish(async ({ name }: { name: string }) => {
      const lab = await Lab.attach(name);
      process.stdout.write(lab.state.adminKubeconfig);
      lab.disconnect();
      return 0;
    }),
  );

program
  .command('logs')
  .argument('<host>')
  .argument('[log]', 'agent, wireguard-go, apiserver ...', agentLog)
  .addOption(nameOption())
  .description('what a process on a host has printed')
  .action(
    finish(async (host: string, log: string, { name }: { name: string }) => {
      const lab = await Lab.attach(name);
      process.stdout.write(
        await lab.host(host).readLog(host === lab.topology.control.name && log === agentLog ? 'apiserver' : log),
      );
      lab.disconnect();
      return 0;
    }),
  );

program
  .command('graph')
  .argument('[topology]', 'a topology', 'home-edge')
  .addOption(new Option('--format <format>', 'how to draw').choices(['mermaid', 'svg']).default('mermaid'))
  .description('draw a topology')
  .action(finish(async (topology: string, { format }: { format: string }) => graphCommand(topology, format)));

program
  .command('gc')
  .description('remove the folders of labs whose processes were killed; lists what is up')
  .action(
    finish(async () => {
      const dead = await sweepDeadLabs();
      process.stdout.write(dead.length === 0 ? 'nothing to remove\n' : `removed ${dead.join(', ')}\n`);
      for (const { name } of listLabs()) process.stdout.write(`up: ${name} (${labsFolder()}/${name})\n`);
      return 0;
    }),
  );

program
  .command('preflight')
  .option('--install', 'install missing Debian packages when root', false)
  .option('--for-tests', 'also what the tests need', false)
  .option('--for-machines', 'also what virtual machines need', false)
  .description('check what the lab needs from this machine')
  .action(
    finish(async (options: { install: boolean; forTests: boolean; forMachines: boolean }) => {
      await preflight({ ...options, say: (line) => process.stdout.write(`${line}\n`) });
      process.stdout.write('this machine has everything the lab needs\n');
      return 0;
    }),
  );

program
  .command('vm-image')
  .option('--kernel <version...>', 'kernels to build', [defaultKernel])
  .description('build the image of virtual machines, or say that it is there')
  .action(finish(({ kernel }: { kernel: string[] }) => vmImageCommand(kernel)));

program
  .command('kernels')
  .argument('[filters...]', 'parts of scenario names; all without')
  .option(
    '--kernel <version...>',
    'kernels to run on',
    kernelReleases.map((release) => release.name),
  )
  .option('--machines <names>', 'only these hosts as machines, the others as namespaces')
  .option('--topology <topology>', 'topology to boot', 'home-edge')
  .description("run the scenarios on each of Debian's kernels and compare the verdicts")
  .action(
    finish((filters: string[], options: { kernel: string[]; machines?: string; topology: string }) =>
      kernelsCommand({ ...options, filters }),
    ),
  );

addBackendOptions(program.command('scenarios'))
  .argument('[filters...]', 'parts of scenario names; all without')
  .option('--filter <part...>', 'the same as an option')
  .option('--topology <topology>', 'topology to boot', 'home-edge')
  .option('--name <name>', 'a lab that is up: run there and leave it up; else the name of the one it boots')
  .option('--report <folder>', 'where the report goes', reportFolder)
  .option('--list', 'only list them', false)
  .option('--json', 'results on standard output, progress on standard error', false)
  .option('--repeat <number>', 'run the whole list this many times', (text) => wholeNumber(text, 1), 1)
  .option('--shuffle [seed]', 'in an order that the seed decides, another one each round', (text) =>
    wholeNumber(text, 0),
  )
  .option(
    '--jobs <number>',
    'labs side by side, each of which takes the next scenario',
    (text) => wholeNumber(text, 1),
    1,
  )
  .option('--keep-on-failure', 'stop at the first that does not pass and leave the lab as it is', false)
  .description('run scenarios on a lab of its own or one that is up, write out/report')
  .action(
    finish(
      (
        filters: string[],
        options: {
          filter?: string[];
          topology: string;
          name?: string;
          report: string;
          list: boolean;
          json: boolean;
          repeat: number;
          shuffle?: number | true;
          jobs: number;
          keepOnFailure: boolean;
        } & BackendOptions,
      ) => {
        const { shuffle, filter = [], name = `scenarios-${process.pid}`, ...rest } = options;
        const seed = shuffle === true ? newSeed() : shuffle;
        return scenariosCommand({
          ...rest,
          name,
          filters: [...filters, ...filter],
          backend: options,
          ...(seed === undefined ? {} : { seed }),
        });
      },
    ),
  );

addBackendOptions(program.command('soak'))
  .option('--kills <number>', 'how many times to kill', (text) => wholeNumber(text, 1), 50)
  .option('--seed <number>', 'seed of the random moments', (text) => wholeNumber(text, 0), newSeed())
  .description('kill driver and holder at random moments and compare the host before and after')
  .action(
    finish(({ kills, seed, ...backend }: { kills: number; seed: number } & BackendOptions) =>
      soakCommand(kills, seed, backend),
    ),
  );

program
  .command('bench')
  .argument(
    '[counts...]',
    `mappings on the accepting node, a lab for each (default: ${mappingCounts.join(' ')})`,
    (text: string, before: number[] | undefined) => [...(before ?? []), wholeNumber(text, fewestMappings)],
  )
  .option('--rounds <number>', 'rounds of traffic, each over all labs in turn', (text) => wholeNumber(text, 1), 10)
  .option('--json', 'results on standard output, progress on standard error', false)
  .description('what mappings cost: apply, change, traffic and memory, by how many there are')
  .action(
    finish((counts: number[] | undefined, options: { rounds: number; json: boolean }) =>
      benchCommand({ ...options, counts: counts ?? mappingCounts }),
    ),
  );

program.parseAsync().catch((error: Error & { code?: string; exitCode?: number }) => {
  // Commander has already said what was wrong with the command line, or printed the help that was asked for.
  if (error.code?.startsWith('commander.') === true) process.exit(error.exitCode === 0 ? 0 : 2);
  const { colours } = openTerminal(process.stderr);
  const known = explained.has(error.name) || error.constructor === Error;
  process.stderr.write(`${formatError({ what: known ? error.message : (error.stack ?? error.message) }, colours)}\n`);
  process.exit(2);
});
