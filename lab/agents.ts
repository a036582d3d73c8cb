/** The agents of a lab: one process per node, as the DaemonSet would run them. */
import type { Backend } from './backends/backend.ts';
import type { HostProcess } from './backends/host.ts';
import { logPath } from './backends/station-host.ts';
import { waitFor } from './wait.ts';

export const agentLog = 'agent';

/** More than an agent writes in a run of all scenarios, in bytes: its first lines are looked for at the end of the run too. */
const wholeLog = 4_000_000;

/** For the end of a process, which may be as far away as the end of the lab: a timer cannot be longer. Milliseconds. */
const longestWaitMs = 2 ** 31 - 1;

/** Where an agent answers /healthz, /readyz and /metrics on its node. */
export const agentHealthPort = 9440;

/** Where a node's kubeconfig lies, as a mounted ServiceAccount token would. */
export function kubeconfigPath(node: string): string {
  return `/run/lab/kubeconfig/${node}`;
}

export class Agents {
  readonly #backend: Backend;
  readonly #running = new Map<string, HostProcess>();

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Node -> process, for a later `lab` command. */
  get pids(): Record<string, number> {
    return Object.fromEntries([...this.#running].map(([node, process]) => [node, process.pid]));
  }

  /** Takes over the agents of a lab that another driver brought up. */
  adopt(pids: Record<string, number>): void {
    for (const [node, pid] of Object.entries(pids)) {
      const { station } = this.#backend.host(node);
      this.#running.set(node, {
        pid,
        // Its exit is told to the driver that started it: another one has to ask, and only when somebody waits for it.
        get ended() {
          return station.request('awaitEnd', { pid }, { timeoutMs: longestWaitMs });
        },
        kill: async (signal) => {
          await station.request('kill', { pid, signal });
        },
      });
    }
  }

  /** Starts the agent of a node with its own credentials. */
  async start(node: string, kubeconfig: string): Promise<void> {
    const host = this.#backend.host(node);
    await host.station.request('writeFile', { path: kubeconfigPath(node), text: kubeconfig, mode: 0o600 });
    await this.#spawn(node);
  }

  async #spawn(node: string): Promise<void> {
    const host = this.#backend.host(node);
    const { installation } = host;
    const argv = [
      ...[...installation.node, `${installation.root}/dist/agent.js`, 'run'],
      ...['--node', node, '--kubeconfig', kubeconfigPath(node), '--health-port', String(agentHealthPort)],
    ];
    this.#running.set(node, await host.spawn(agentLog, argv));
  }

  /**
   * Waits until the agent of each node has done its first pass.
   * @throws Error with the end of the log of the one that has not
   */
  async ready(timeoutMs: number): Promise<void> {
    await Promise.all(
      [...this.#running].map(async ([node, process]) => {
        const host = this.#backend.host(node);
        const died = process.ended.then((end) => {
          throw new Error(`the agent on ${node} ended (${end.signal ?? `exit ${end.code}`})`);
        });
        const isReady = waitFor(
          `the agent on ${node} to be ready`,
          async () => ((await host.readLog(agentLog, wholeLog)).includes('"msg":"ready"') ? true : undefined),
          // Rarely on a machine where looking takes long: it is the machine whose agent is waited for.
          { timeoutMs, restFactor: 6 },
        );
        try {
          await Promise.race([isReady, died]);
        } catch (error) {
          const log = await host.readLog(agentLog, 3000).catch(() => '');
          throw new Error(`${(error as Error).message}\nend of its log:\n${log.trim()}`);
        }
      }),
    );
  }

  /** Ends the agent of a node and waits until it has ended. */
  async stop(node: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const process = this.#running.get(node);
    if (process === undefined) throw new Error(`no agent runs on ${node}`);
    await process.kill(signal);
    await process.ended;
    this.#running.delete(node);
  }

  /** Starts the agent of a node again, with the credentials it had; its log starts anew. */
  async restart(node: string): Promise<void> {
    const host = this.#backend.host(node);
    await host.exec(['sh', '-c', 'mv "$1" "$1.$(date +%s%N)"', 'log', logPath(node, agentLog)]);
    await this.#spawn(node);
  }

  async signal(node: string, signal: NodeJS.Signals): Promise<void> {
    const process = this.#running.get(node);
    if (process === undefined)
      throw new Error(`no agent runs on ${node}: they run on ${[...this.#running.keys()].join(', ')}`);
    await process.kill(signal);
  }

  /** Stops all agents where they are, so that they do not mend what a scenario breaks. */
  async pause(): Promise<void> {
    await Promise.all([...this.#running.values()].map((process) => process.kill('SIGSTOP')));
  }

  async resume(): Promise<void> {
    await Promise.all([...this.#running.values()].map((process) => process.kill('SIGCONT')));
  }
}
