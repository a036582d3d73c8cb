/**
 * Whether this machine's KVM runs a guest. That /dev/kvm is there and opens says nothing: inside many virtual machines it
 * does, and no guest gets past its first instruction. So one is started.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './image/cache.ts';
import type { Accelerator } from './qemu.ts';

export interface AcceleratorChoice {
  accelerator: Accelerator;
  /** For a person. */
  reason: string;
}

/** A kernel prints its first line within 0.3 s on hardware; this is for a loaded machine. Milliseconds. */
const probeMs = 4000;

/** Remembered until the machine boots anew. */
interface Verdict {
  bootId: string;
  runs: boolean;
}

const verdictFile = (): string => join(cacheFolder(), 'kvm.json');

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/**
 * @param vmlinux kernel that the probe guest starts
 */
export async function chooseAccelerator(vmlinux: string): Promise<AcceleratorChoice> {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
  } catch {
    return { accelerator: 'tcg', reason: 'software emulation: /dev/kvm is not there or not open to this user' };
  }
  const runs = remembered() ?? (await guestRuns(vmlinux));
  mkdirSync(cacheFolder(), { recursive: true, mode: 0o700 });
  writeFileSync(verdictFile(), JSON.stringify({ bootId: bootId(), runs } satisfies Verdict));
  return runs
    ? { accelerator: 'kvm', reason: 'KVM' }
    : {
        accelerator: 'tcg',
        reason: 'software emulation: /dev/kvm is there, but a probe guest did not come up with it',
      };
}

function remembered(): boolean | undefined {
  try {
    const verdict = JSON.parse(readFileSync(verdictFile(), 'utf8')) as Verdict;
    return verdict.bootId === bootId() ? verdict.runs : undefined;
  } catch {
    return undefined;
  }
}

function guestRuns(vmlinux: string): Promise<boolean> {
  const child = spawn(
    'qemu-system-x86_64',
    [
      ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-machine', 'q35'],
      ...['-accel', 'kvm', '-cpu', 'host', '-m', '256', '-serial', 'stdio'],
      ...['-kernel', vmlinux, '-append', 'console=ttyS0 panic=-1'],
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  return new Promise((resolve) => {
    let text = '';
    const decide = (verdict: boolean): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      resolve(verdict);
    };
    const timer = setTimeout(() => decide(false), probeMs);
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('Linux version')) decide(true);
    });
    child.on('error', () => decide(false));
    child.on('exit', () => decide(text.includes('Linux version')));
  });
}
