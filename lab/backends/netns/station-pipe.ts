/** The pipe between the holder and one station, whatever carries it. */
import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { NamespaceStart } from './holder-protocol.ts';

export interface StationPipe {
  /** Ending it ends the station. */
  input: Writable;
  output: Readable;
  stderr: Readable;
  /** Settles when the station has ended, with the reason in words. */
  ended: Promise<string>;
  kill(): void;
}

/** What a host needs before its station: loopback up, and with mounts of its own its name and its WireGuard sockets. */
const loopback = 'ip link set lo up';
// A new network namespace takes over the machine's defaults: strict reverse path filtering there (RHEL, ufw) would be
// in force here too. Set before the first device comes, since each takes the default over when it is made.
const noFilter = 'for f in all default; do echo 0 > /proc/sys/net/ipv4/conf/$f/rp_filter; done';
// The host's own /sys shows its own devices; where a user namespace may not mount it, nothing of the lab misses it.
const mounts = 'hostname "$0"; mount -t sysfs sysfs /sys 2>/dev/null; mount -t tmpfs tmpfs /run/wireguard';

/** Shell lines every network namespace of the lab runs before its station. */
export const namespacePrelude = `${loopback} && ${noFilter}`;

/**
 * The command line that starts a station in its namespaces, below /run/netns of where it is run. A host's mounts are slaves of the lab's: the namespaces of
 * pods made later must appear in it, what it mounts itself must not appear elsewhere.
 */
export function stationCommand(start: NamespaceStart, station: readonly string[]): readonly string[] {
  if (start.networkNamespace === null) return station;
  const prelude = start.ownMounts ? `${mounts} && ${namespacePrelude}` : namespacePrelude;
  return [
    ...['nsenter', `--net=/run/netns/${start.networkNamespace}`],
    ...(start.ownMounts ? ['unshare', '--mount', '--propagation', 'slave', '--uts'] : []),
    ...['sh', '-c', `${prelude} && exec "$@"`, start.host, ...station],
  ];
}

/** Starts a station as a child process in namespaces of the lab. */
export function namespaceStation(start: NamespaceStart, stationProgram: string): StationPipe {
  const [program, ...args] = stationCommand(start, [process.execPath, stationProgram]) as [string, ...string[]];
  const child = spawn(program, args, { stdio: 'pipe', env: { ...process.env, KUPORT_LAB_HOST: start.host } });
  return {
    input: child.stdin,
    output: child.stdout,
    stderr: child.stderr,
    ended: new Promise((resolve) => {
      child.on('error', (error) => resolve(`cannot start it: ${error.message}`));
      child.on('exit', (code, signal) => resolve(signal ?? `exit ${code}`));
    }),
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}
