/**
 * `lab soak`: kills driver and holder at random moments of up, scenario and down, and compares the host before and
 * after. A testbed that leaks is worse than none: the next run would measure its remains.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { $ } from 'zx';
import { labsFolder, readHolderRecord, sweepDeadLabs } from '../backends/netns/state-folder.ts';
import { preflight } from '../preflight/preflight.ts';
import { projectRoot } from '../project.ts';
import { random } from '../random.ts';
import { formatDuration } from '../terminal/duration.ts';
import { openTerminal } from '../terminal/terminal.ts';
import { waitFor } from '../wait.ts';
import type { BackendOptions } from './backend-options.ts';

type Victim = 'driver' | 'holder' | 'driver and holder' | 'guardian';

const victims: readonly Victim[] = ['driver', 'holder', 'driver and holder', 'guardian'];

/** One whole run of up, scenario and down takes about this long here, in milliseconds: moments are drawn from it. */
const runMs = { netns: 6000, vm: 60_000 } as const;

/** After a kill everything must be gone within this, in milliseconds. */
const goneMs = 5000;

/** All that a lab could leave on a host, as text: links, namespaces, rules, routes, nft tables, mounts. */
export async function hostState(): Promise<string> {
  const quiet = $({ quiet: true, nothrow: true });
  const script =
    'ip -brief link | cut -d" " -f1; ip netns list; ip rule; ip route show table all; nft list tables 2>/dev/null; grep -c . /proc/self/mounts';
  return (await quiet`sh -c ${script}`).stdout;
}

/** Processes of this lab, wherever they are: by its folder's path or name in their command line or environment. */
export function processesOf(name: string): string[] {
  const folder = join(labsFolder(), name);
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .flatMap((pid) => {
      try {
        const text = readFileSync(`/proc/${pid}/cmdline`, 'utf8') + readFileSync(`/proc/${pid}/environ`, 'utf8');
        if (!text.includes(folder) && !text.includes(`KUPORT_LAB_NAME=${name}`)) return [];
        // A zombie has no command line; what waits for its parent is not running.
        return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 120)}`];
      } catch {
        return [];
      }
    });
}

function kill(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It was quicker.
  }
}

/** Kills the parent of the lab's PID 1, or (guardian) that PID 1 itself. */
function killHolder(name: string, guardian: boolean): void {
  const pid = readHolderRecord(join(labsFolder(), name))?.pid;
  if (pid === undefined) return;
  if (!guardian) {
    kill(pid);
    return;
  }
  try {
    kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]) || undefined);
  } catch {
    // Already gone.
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once('exit', resolve));
}

/** The options that make a driver use the same backend. */
function backendWords({ backend, kernel, machines, cold }: BackendOptions): string[] {
  return [
    ...['--backend', backend],
    ...(kernel === undefined ? [] : ['--kernel', kernel]),
    ...(machines === undefined ? [] : ['--machines', machines]),
    ...(cold ? ['--cold'] : []),
  ];
}

/** @returns exit status: 0 when nothing was ever left behind */
export async function soakCommand(kills: number, seed: number, backend: BackendOptions): Promise<number> {
  const terminal = openTerminal();
  const { backend: kind } = backend;
  if (kind === 'vagrant') throw new Error('soak is for the backends netns and vm');
  await preflight({ install: true, forMachines: kind === 'vm', say: (line) => terminal.line(line) });
  const draw = random(seed);
  let failed = 0;
  terminal.line(`soak: ${kills} kills, seed ${seed}`);
  for (let round = 1; round <= kills; round++) {
    const victim = victims[Math.floor(draw() * victims.length)] ?? 'driver';
    const moment = Math.floor(draw() * runMs[kind]);
    const name = `soak-${process.pid}-${round}`;
    const problem = await killOnce(name, victim, moment, backendWords(backend));
    const what = `${String(round).padStart(3)} ${victim} after ${formatDuration(moment)}`;
    if (problem === null) terminal.line(`${terminal.colours.green('✓')} ${what}`);
    else {
      failed++;
      terminal.line(`${terminal.colours.red('✗')} ${what} (seed ${seed}): ${problem}`);
    }
  }
  terminal.line(`${kills - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** @returns what was left behind, or null */
async function killOnce(
  name: string,
  victim: Victim,
  momentMs: number,
  backend: readonly string[],
): Promise<string | null> {
  const before = await hostState();
  const report = join(labsFolder(), `${name}-report`);
  const driver = spawn(
    process.execPath,
    [
      join(projectRoot, 'dist', 'lab.js'),
      'scenarios',
      'single/cross-node',
      '--name',
      name,
      '--report',
      report,
      ...backend,
    ],
    {
      stdio: 'ignore',
      env: { ...process.env, KUPORT_LAB_NAME: name },
    },
  );
  await Promise.race([sleep(momentMs), ended(driver)]);
  if (victim === 'driver' || victim === 'driver and holder') kill(driver.pid);
  if (victim !== 'driver') killHolder(name, victim === 'guardian');
  await ended(driver);
  // A driver that lost its lab must say so: success without results would be a lie.
  const lied = driver.exitCode === 0 && !existsSync(join(report, 'results.json'));
  rmSync(report, { recursive: true, force: true });
  try {
    await waitFor(
      'every process of the lab to be gone',
      async () => {
        const left = processesOf(name);
        if (left.length === 0) return true;
        throw new Error(`still there: ${left.join('; ')}`);
      },
      { timeoutMs: goneMs },
    );
  } catch (error) {
    return (error as Error).message;
  }
  if (lied) return 'the driver ended with status 0 and left no results';
  // Killed together, nobody was left to remove the folder: the next command does.
  await sweepDeadLabs();
  if (existsSync(join(labsFolder(), name))) return `the folder ${join(labsFolder(), name)} is still there`;
  const after = await hostState();
  return after === before ? null : `the host has changed:\n--- before\n${before}--- after\n${after}`;
}
