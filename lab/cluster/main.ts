/** `apiserver --config FILE`: the lab's Kubernetes API as a process. Ready is one JSON line on stdout. */
import { parseArgs } from 'node:util';
import { readConfig } from './config.ts';
import { startServer } from './server.ts';

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { config: { type: 'string' } } });
  if (values.config === undefined) throw new Error('usage: apiserver --config FILE');
  const server = await startServer(readConfig(values.config));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      void server.close().then(() => process.exit(0));
    });
  }
  // performance.now() counts from the start of the process, so this includes loading the program.
  const ready = { ready: true, milliseconds: Math.round(performance.now()), port: server.port };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`apiserver: ${(error as Error).message}\n`);
  process.exit(2);
});
