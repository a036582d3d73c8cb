/** Removes everything of kuport's from this node. */
import { applyChange, type Change, difference } from './apply.ts';
import { readInterfaces } from './interfaces.ts';
import { observe } from './observe.ts';

/** The change that leaves nothing: what `cleanup --dry-run` prints. */
export async function cleanupChange(): Promise<Change> {
  return difference(await observe(await readInterfaces()), { links: [], returnPaths: [], deliveries: [] });
}

/** @returns what was done. @throws CommandError */
export async function cleanup(): Promise<Change> {
  const change = await cleanupChange();
  await applyChange(change);
  return change;
}
