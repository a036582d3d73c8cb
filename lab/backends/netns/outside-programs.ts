/** Programs that a holder runs outside the lab, and ends with it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OutsideCommand } from './last-command.ts';

/** Milliseconds that a program has to end by itself when it is interrupted. */
const graceMs = 10_000;

export class OutsidePrograms {
  readonly #running = new Map<ChildProcess, Promise<number>>();

  /** @returns its exit status; 255 when a signal ended it. @throws Error when it cannot be started */
  async run({ argv, env }: OutsideCommand, outputFile: string): Promise<{ code: number }> {
    const output = openSync(outputFile, 'a');
    const [program, ...args] = argv;
    // A process group of its own, so that what it starts can be ended with it.
    const child = spawn(program, args, {
      stdio: ['ignore', output, output],
      detached: true,
      env: { ...process.env, ...env },
    });
    closeSync(output);
    const ended = new Promise<number>((resolve, reject) => {
      child.on('error', (error) => reject(new Error(`cannot run ${program}: ${error.message}`)));
      child.on('exit', (code) => resolve(code ?? 255));
    });
    this.#running.set(child, ended);
    try {
      return { code: await ended };
    } finally {
      this.#running.delete(child);
    }
  }

  /** Interrupts what runs, as Ctrl-C would, and kills what does not end by that. */
  async end(): Promise<void> {
    const running = [...this.#running];
    const all = Promise.allSettled(running.map(([, ended]) => ended));
    for (const [child] of running) signal(child, 'SIGINT');
    await Promise.race([all, sleep(running.length === 0 ? 0 : graceMs)]);
    for (const [child] of running) signal(child, 'SIGKILL');
    await all;
  }
}

function signal(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // The whole group has ended.
  }
}
