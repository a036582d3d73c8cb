/** Packets on one device of a host, written to a file there by tcpdump. */
import type { Host } from '../backends/host.ts';
import { waitFor } from '../wait.ts';

export interface Capture {
  readonly host: Host;
  /** On the host. */
  readonly file: string;
  /** Ends it; the file is complete afterwards. */
  stop(): Promise<void>;
  /** The packets so far, one a line, in tcpdump's words without times and names. */
  read(): Promise<string[]>;
}

let next = 1;

/**
 * Returns once tcpdump listens, so that nothing after it is missed.
 * @throws Error with tcpdump's words when it does not
 */
export async function startCapture(host: Host, device: string, filter: string): Promise<Capture> {
  const name = `capture-${next++}`;
  const file = `/run/lab/${host.name}-${name}.pcap`;
  // Without immediate mode the last packets stay in the kernel's buffer when tcpdump ends, and -U writes each at once.
  const process = await host.spawn(name, [
    'tcpdump',
    '--immediate-mode',
    '-U',
    '-n',
    '-i',
    device,
    '-w',
    file,
    ...filter.split(' '),
  ]);
  let over = false;
  void process.ended.then(() => {
    over = true;
  });
  await waitFor(
    `tcpdump to listen on ${device} of ${host.name}`,
    async () => {
      const said = await host.readLog(name);
      if (said.includes('listening on')) return true;
      // It gives up its privileges at the start, for which a user namespace has no other user to become.
      const hint = said.includes("Couldn't change to") ? ' (captures need a lab that was started as root)' : '';
      throw new Error(`${said.trim()}${hint}`);
    },
    { timeoutMs: 3000 },
  );
  return {
    host,
    file,
    stop: async () => {
      if (over) return;
      await process.kill('SIGINT');
      await process.ended;
    },
    read: async () => {
      const { stdout } = await host.exec(['tcpdump', '-n', '-t', '-r', file], { allowFailure: true });
      return stdout.split('\n').filter((line) => line !== '');
    },
  };
}
