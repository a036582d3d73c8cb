/** `kuport-agent cleanup`: removes everything of kuport's from this node and prints it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isNoChange, nothing } from '../datapath/change.ts';
import { changeText, cleanupChange } from '../datapath/cleanup.ts';
import { Datapath } from '../datapath/datapath.ts';
import type { NodePlan } from '../plan/node-plan.ts';

/** What an agent of a node plans that no class names. */
const emptyPlan: NodePlan = {
  node: '',
  ...nothing,
  claims: [],
  linkChanges: [],
  portMapStatuses: [],
  classConditions: [],
  classNodeStatuses: [],
};

/** Milliseconds in which an agent that runs puts back what was removed. */
const comebackMs = 1000;

/** @throws CommandError, AggregateError; Error when an agent undoes it */
export async function runCleanup({ dryRun = false }: { dryRun?: boolean }): Promise<void> {
  const change = await cleanupChange();
  if (isNoChange(change)) {
    process.stdout.write('nothing of kuport is on this node\n');
    return;
  }
  process.stdout.write(changeText(change));
  if (dryRun) return;
  // The same as when the last mapping goes: translated flows are forgotten too.
  const datapath = new Datapath();
  const applied = await datapath.apply(emptyPlan, await datapath.look());
  const flows = applied?.deleted.length ?? 0;
  if (flows > 0) process.stdout.write(`${flows} conntrack entr${flows === 1 ? 'y' : 'ies'} deleted\n`);
  await sleep(comebackMs);
  if (!isNoChange(await cleanupChange()))
    throw new Error('what was removed is there again: an agent runs on this node; stop it, then clean up');
}
