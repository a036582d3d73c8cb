/**
 * Where built images lie between runs: one folder per image, named after a hash of what it is made of. A folder appears
 * under its name whole or not at all, so a build that was killed half way is never taken for an image.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** What an image is made of, by name. Any difference makes another image. */
export type Inputs = Readonly<Record<string, string>>;

/** Folder of all images of this user. */
export function cacheFolder(): string {
  return process.env.KUPORT_CACHE_FOLDER ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'kuport');
}

export function hashOf(inputs: Inputs): string {
  const lines = Object.entries(inputs)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}\n`);
  return createHash('sha256').update(lines.join('')).digest('hex').slice(0, 12);
}

const inputsFile = 'inputs.json';

function readInputs(folder: string): Inputs {
  try {
    return JSON.parse(readFileSync(join(folder, inputsFile), 'utf8')) as Inputs;
  } catch {
    return {};
  }
}

/** Shortened for a line of text: package lists are long. */
function brief(text: string | undefined): string {
  if (text === undefined) return 'nothing';
  return text.length > 40 ? `${text.slice(0, 37)}…` : text;
}

/** Why an image of `kind` has to be built, in words; null when it is there. */
export function reasonToBuild(kind: string, inputs: Inputs): string | null {
  const folder = imageFolder(kind, inputs);
  if (existsSync(join(folder, inputsFile))) return null;
  const previous = olderImages(kind, folder).map((name) => readInputs(join(cacheFolder(), name)));
  const [last] = previous;
  if (last === undefined) return 'there is none yet';
  const changed = [...new Set([...Object.keys(last), ...Object.keys(inputs)])].filter(
    (name) => last[name] !== inputs[name],
  );
  return changed.map((name) => `${name} changed from ${brief(last[name])} to ${brief(inputs[name])}`).join(', ');
}

/** Folder of the image of `kind` with these inputs, whether it is there or not. */
export function imageFolder(kind: string, inputs: Inputs): string {
  return join(cacheFolder(), `${kind}-${hashOf(inputs)}`);
}

function olderImages(kind: string, folder: string): string[] {
  const pattern = new RegExp(`^${kind.replaceAll('.', '\\.')}-[0-9a-f]{12}$`);
  try {
    return readdirSync(cacheFolder()).filter((name) => pattern.test(name) && join(cacheFolder(), name) !== folder);
  } catch {
    return [];
  }
}

/** True while a process of that number runs. */
function runs(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

/** Removes what builds that were killed have left. */
export function sweepHalfBuilt(): string[] {
  if (!existsSync(cacheFolder())) return [];
  const left = readdirSync(cacheFolder()).filter((name) => {
    const [, pid] = /\.building-(\d+)$/.exec(name) ?? [];
    return pid !== undefined && !runs(Number(pid));
  });
  for (const name of left) rmSync(join(cacheFolder(), name), { recursive: true, force: true });
  return left;
}

/**
 * Builds an image in a folder of its own and puts it in its place; images of that kind with other inputs go then.
 * @param build fills the folder it is given
 * @returns the image's folder
 */
export async function buildImage(
  kind: string,
  inputs: Inputs,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = imageFolder(kind, inputs);
  const working = `${folder}.building-${process.pid}`;
  rmSync(working, { recursive: true, force: true });
  mkdirSync(working, { recursive: true, mode: 0o700 });
  try {
    await build(working);
    writeFileSync(join(working, inputsFile), `${JSON.stringify(inputs, null, 2)}\n`);
    // Another build of the same image that was faster has left the same thing.
    rmSync(folder, { recursive: true, force: true });
    renameSync(working, folder);
  } finally {
    rmSync(working, { recursive: true, force: true });
  }
  for (const name of olderImages(kind, folder)) rmSync(join(cacheFolder(), name), { recursive: true, force: true });
  return folder;
}
