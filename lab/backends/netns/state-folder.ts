/**
 * The only thing a lab has outside its namespaces: a folder with its socket and the holder's log. Labs are found, told
 * apart and swept by these folders.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { hasLastCommand, runLastCommand } from './last-command.ts';

export interface HolderRecord {
  /** The `unshare` process that is the parent of the lab's PID 1, as the host numbers it. */
  pid: number;
  /** That process's start time in clock ticks since boot (field 22 of /proc/PID/stat): tells it from a reused PID. */
  startTicks: string | null;
}

/** A lab of that name is already there. */
export class LabExistsError extends Error {
  override readonly name = 'LabExistsError';
}

const namePattern = /^[a-z0-9][a-z0-9-]{0,30}$/;

/** Bytes that the path of a unix socket may have (sun_path less its final zero). Node cuts a longer one off in silence. */
export const socketPathLimit = 107;

/** Folder of all labs of this user. */
export function labsFolder(): string {
  return process.env.KUPORT_LAB_FOLDER ?? join(tmpdir(), `kuport-lab-${userInfo().uid}`);
}

/** @throws Error when the name could not be a folder and a file name. */
export function stateFolder(name: string): string {
  if (!namePattern.test(name)) {
    throw new Error(`lab name "${name}": use 1 to 31 of a-z, 0-9 and -, starting with a letter or digit`);
  }
  return join(labsFolder(), name);
}

/** @throws LabExistsError when another lab holds the name. */
export function createStateFolder(name: string): string {
  const folder = stateFolder(name);
  const longest = join(folder, 'holder.sock');
  if (Buffer.byteLength(longest) > socketPathLimit) {
    throw new Error(
      `${longest} is too long for a socket (${Buffer.byteLength(longest)} bytes, ${socketPathLimit} are possible): set TMPDIR or KUPORT_LAB_FOLDER to a folder with a shorter path`,
    );
  }
  mkdirSync(labsFolder(), { recursive: true, mode: 0o700 });
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (isAlive(folder)) {
      throw new LabExistsError(
        `a lab named "${name}" is already up (${folder}): take it down with \`lab down --name ${name}\` or choose another --name`,
      );
    }
    if (hasLastCommand(folder)) {
      throw new LabExistsError(
        `a lab named "${name}" was killed and left machines (${folder}): \`lab gc\` removes them; or choose another --name`,
      );
    }
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: 0o700 });
  }
  return folder;
}

/** When a running process began, in clock ticks since boot; null when there is none. */
function startTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name in parentheses may hold spaces; what follows the last parenthesis does not.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended and only waits for its parent to notice.
    return state === 'Z' ? null : (fields[18] ?? null);
  } catch {
    return null;
  }
}

export function writeHolderRecord(folder: string, pid: number): void {
  writeFileSync(join(folder, 'holder.json'), JSON.stringify({ pid, startTicks: startTicks(pid) }));
}

export function readHolderRecord(folder: string): HolderRecord | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'holder.json'), 'utf8')) as HolderRecord;
  } catch {
    return null;
  }
}

/** A folder made less than this long ago may belong to a driver that is about to start its holder. */
const bootingMilliseconds = 5000;

/** True until the holder, and with it every process of its lab, is gone. */
export function isRunning({ pid, startTicks: began }: HolderRecord): boolean {
  return began !== null && startTicks(pid) === began;
}

/** True while the holder runs, or may be about to. */
export function isAlive(folder: string): boolean {
  const record = readHolderRecord(folder);
  if (record !== null) return isRunning(record);
  try {
    return Date.now() - statSync(folder).mtimeMs < bootingMilliseconds;
  } catch {
    return false;
  }
}

/** Names of all labs that have a folder, and whether each is alive. */
export function listLabs(): { name: string; alive: boolean }[] {
  try {
    return readdirSync(labsFolder())
      .sort()
      .map((name) => ({ name, alive: isAlive(join(labsFolder(), name)) }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Removes a lab's folder, whatever is left in it. */
export function removeStateFolder(name: string): void {
  rmSync(stateFolder(name), { recursive: true, force: true });
}

/**
 * Removes what labs have left whose holder is gone (killed together with its driver): their folders, and what they made
 * outside. Returns their names.
 * @throws Error when something outside cannot be removed; the other labs are swept all the same
 */
export async function sweepDeadLabs(): Promise<string[]> {
  const dead = listLabs().filter((lab) => !lab.alive);
  const failures: Error[] = [];
  for (const lab of dead) {
    const folder = join(labsFolder(), lab.name);
    try {
      await runLastCommand(folder);
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      failures.push(error as Error);
    }
  }
  if (failures.length > 0) throw new Error(failures.map((failure) => failure.message).join('\n'));
  return dead.map((lab) => lab.name);
}
