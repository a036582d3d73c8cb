/** `kuport-agent cleanup`: removes everything of kuport's from this node and prints it. */
import { isNoChange } from '../datapath/change.ts';
import { changeText, cleanup, cleanupChange } from '../datapath/cleanup.ts';

/** @throws CommandError, AggregateError */
export async function runCleanup({ dryRun = false }: { dryRun?: boolean }): Promise<void> {
  const change = dryRun ? await cleanupChange() : await cleanup();
  process.stdout.write(isNoChange(change) ? 'nothing of kuport is on this node\n' : changeText(change));
}
