/**
 * Carries a change out. New links, routes and rules come before the nft transaction that sends packets into them, old
 * ones go after it, so that no packet finds half of its way; one process for each step, none for a step without work.
 */
import { writeFile } from 'node:fs/promises';
import type { Change } from './change.ts';
import { run } from './command.ts';

/**
 * Where the network's settings are written. A container runtime mounts /proc/sys read-only and refuses mounts inside
 * /proc, so a pod has the host's in another place.
 */
const settingsFolder = process.env.KUPORT_PROC_SYS_NET ?? '/proc/sys/net';

/**
 * Requests arrive on a link from the client's address, whose route leads elsewhere: strict reverse path filtering, the
 * default of kind images and RHEL, drops them. The effective value is the larger of the device's and all's, so loose on
 * the device alone is enough.
 */
async function loosenReversePath(device: string): Promise<void> {
  const path = `${settingsFolder}/ipv4/conf/${device}/rp_filter`;
  try {
    await writeFile(path, '2');
  } catch (error) {
    throw new Error(`cannot set ${path} to 2, requests over this link may be dropped: ${(error as Error).message}`);
  }
}

/** The rest of a batch is carried out when one line is refused: one bad link must not stop the others. */
async function batch(lines: readonly string[]): Promise<void> {
  if (lines.length > 0) await run('ip', ['-force', '-batch', '-'], { input: `${lines.join('\n')}\n` });
}

/**
 * Every step is tried, whatever became of the one before.
 * @param onCommit called with the id of the process that changes the table, before it does
 * @throws AggregateError of what was refused, each naming command, stderr and text; the rest has been done
 */
export async function applyChange(change: Change, onCommit?: (processId: number) => void): Promise<void> {
  const steps = [
    () => batch(change.ipBefore),
    ...change.loosen.map((device) => () => loosenReversePath(device)),
    async () => {
      if (change.nft !== '')
        await run('nft', ['-f', '-'], { input: change.nft, ...(onCommit === undefined ? {} : { onStart: onCommit }) });
    },
    () => batch(change.ipAfter),
  ];
  const errors: Error[] = [];
  for (const step of steps) await step().catch((error: Error) => errors.push(error));
  if (errors.length > 0) throw new AggregateError(errors, errors.map((each) => each.message).join('\n'));
}
