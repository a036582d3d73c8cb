/** Removes everything of ours from this node. */
import { applyChange } from './apply.ts';
import { type Change, difference, nothing } from './change.ts';
import { observe } from './observe.ts';

/** The change that leaves nothing. @throws CommandError */
export async function cleanupChange(): Promise<Change> {
  return difference(await observe(), nothing, null);
}

/** @returns what was done. @throws CommandError, AggregateError */
export async function cleanup(): Promise<Change> {
  const change = await cleanupChange();
  await applyChange(change);
  return change;
}

/** As a person reads it: the commands, in their order. */
export function changeText({ ipBefore, nft, ipAfter }: Change): string {
  return [...ipBefore.map((line) => `ip ${line}\n`), nft, ...ipAfter.map((line) => `ip ${line}\n`)].join('');
}
