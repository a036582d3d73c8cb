/** Brings one machine to life inside the lab's namespaces, and watches it until it can be reached. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Host, HostProcess } from '../host.ts';
import { consoleSize, consoleTail, type Milestone, milestoneReached } from './console.ts';
import { type MachineOptions, qemuCommand } from './qemu.ts';
import { QmpClient } from './qmp.ts';
import type { SavedState } from './saved-state.ts';

/** A machine did not come up; the message holds what it said. */
export class MachineError extends Error {
  override readonly name = 'MachineError';
}

/** Told as a machine comes up. */
export type MachineProgress = (milestone: Milestone | 'restored') => void;

/** QEMU listens within 0.2 s; this is for a loaded machine. Milliseconds. */
const qmpMs = 20_000;

/**
 * Milliseconds without a new word on the console and without a milestone after which a boot has stopped. Under emulation
 * the longest silence of five machines booting at once on two cores was 12 s.
 */
const silenceLimits = { kvm: 20_000, tcg: 60_000 } as const;

export interface RunningMachine {
  process: HostProcess;
  /** Frees what this process holds of it; the machine goes on. */
  letGo(): void;
}

export interface Place {
  /** The lab's own namespace. */
  ground: Host;
  /** Named network namespace the machine's tap appears in; null for the lab's own. */
  namespace: string | null;
}

function logName(machine: string): string {
  return `qemu-${machine}`;
}

async function startQemu(place: Place, options: MachineOptions): Promise<HostProcess> {
  const enter = place.namespace === null ? [] : ['nsenter', `--net=/run/netns/${place.namespace}`];
  return place.ground.spawn(logName(options.name), [...enter, ...qemuCommand(options)]);
}

/** Fails as soon as QEMU ends, with its own words and the machine's. */
function untilEnded(place: Place, options: MachineOptions, process: HostProcess): Promise<never> {
  return process.ended.then(async ({ code, signal }) => {
    const said = await place.ground.readLog(logName(options.name), 1500).catch(() => '');
    throw new MachineError(describe(options, `QEMU ended (${signal ?? `exit ${code}`}): ${said.trim()}`));
  });
}

function describe({ name, files }: MachineOptions, what: string): string {
  const tail = consoleTail(files.console);
  return `machine ${name}: ${what}\n${tail === '' ? 'it printed nothing on its console' : `its console ended with:\n${tail}`}`;
}

/**
 * Boots a machine from its kernel.
 * @throws MachineError when it ends or stops making progress
 */
export async function bootMachine(
  place: Place,
  options: MachineOptions,
  progress: MachineProgress,
): Promise<RunningMachine> {
  const process = await startQemu(place, options);
  const ended = untilEnded(place, options, process);
  ended.catch(() => undefined);
  await Promise.race([ended, awaitReady(options, progress)]);
  return { process, letGo: () => undefined };
}

async function awaitReady(options: MachineOptions, progress: MachineProgress): Promise<void> {
  const limit = silenceLimits[options.accelerator];
  const { console } = options.files;
  let reached: Milestone = 'nothing yet';
  let size = 0;
  let lastWord = Date.now();
  for (;;) {
    const now = milestoneReached(console);
    if (now !== reached) progress(now);
    const grown = consoleSize(console);
    if (now !== reached || grown !== size) lastWord = Date.now();
    reached = now;
    size = grown;
    if (reached === 'ready for ssh') return;
    if (Date.now() - lastWord > limit) {
      throw new MachineError(describe(options, `no progress for ${limit / 1000} s; it had come as far as: ${reached}`));
    }
    await sleep(50);
  }
}

/**
 * Starts a machine from a saved state.
 * @throws MachineError or Error with QEMU's words when the state does not fit
 */
export async function restoreMachine(
  place: Place,
  options: MachineOptions,
  state: SavedState,
  progress: MachineProgress,
): Promise<RunningMachine> {
  const process = await startQemu(place, { ...options, memory: { file: state.memory, share: false }, incoming: true });
  const ended = untilEnded(place, options, process);
  ended.catch(() => undefined);
  const resume = async (): Promise<void> => {
    const qmp = await QmpClient.connect(options.name, options.files.qmp, qmpMs);
    await qmp.execute('migrate-set-capabilities', { capabilities: [{ capability: 'x-ignore-shared', state: true }] });
    await qmp.execute('migrate-incoming', { uri: `exec:cat ${state.devices}` });
    await qmp.migrated(qmpMs);
    await qmp.execute('cont');
    qmp.close();
    progress('restored');
  };
  await Promise.race([ended, resume()]);
  return { process, letGo: () => undefined };
}
