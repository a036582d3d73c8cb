/** `apidoor --socket PATH --server URL --ca FILE --token-file FILE`: the door as a process on the control host. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openDoor } from './door.ts';

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { socket: text, server: text, ca: text, 'token-file': text } });
  const { socket, server, ca, 'token-file': tokenFile } = values;
  if (socket === undefined || server === undefined || ca === undefined || tokenFile === undefined)
    throw new Error('usage: apidoor --socket PATH --server URL --ca FILE --token-file FILE');
  await openDoor({ socketPath: socket, server, ca, token: readFileSync(tokenFile, 'utf8').trim() });
}

main().catch((error: unknown) => {
  process.stderr.write(`apidoor: ${(error as Error).message}\n`);
  process.exit(2);
});
