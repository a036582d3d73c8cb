/** `kuport-agent run`: the agent of one node, until it is told to stop. The datapath stays when it does. */
import { CheckWatch } from '../checks/watch.ts';
import { ApiClient } from '../cluster/api-client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { StatusWriter } from '../cluster/status-writer.ts';
import { Datapath } from '../datapath/datapath.ts';
import { DriftMonitor } from '../datapath/drift.ts';
import { EventRecorder } from '../observability/events.ts';
import { serveHealth } from '../observability/health.ts';
import { createLog, Repetition } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { statusSummary } from '../observability/status-summary.ts';
import { noteTraffic, readTraffic } from '../observability/traffic.ts';
import { Reconciler } from '../reconciler.ts';
import { loadKubeConfig } from './kubeconfig.ts';

export interface RunOptions {
  node: string;
  /** File; without one the pod's service account. */
  kubeconfig?: string;
  logLevel: string;
  /** 0: none. */
  healthPort: number;
}

/** @throws InputError; Error when the health port is taken */
export async function runAgent(options: RunOptions): Promise<void> {
  const { node } = options;
  const log = createLog(options.logLevel, node);
  const repetition = new Repetition();
  const api = new ApiClient(loadKubeConfig(options.kubeconfig));

  let isReady = false;
  const datapath = new Datapath();
  const metrics = new Metrics(async () => {
    const traffic = await readTraffic();
    noteTraffic(datapath, traffic);
    return traffic;
  });
  const cluster = new Cluster(api, {
    onChange: (what) => reconciler.trigger(what),
    onError: (kind, error) => {
      metrics.apiError(kind);
      if (repetition.isNew(kind, error.message)) log.warn({ kind, error: error.message }, 'watch failed, trying again');
    },
    onSynced: (kind) => {
      if (repetition.isOver(kind)) log.info({ kind }, 'watch works again');
    },
  });
  const recorder = new EventRecorder(api, node, {
    onError: (what, error) => {
      metrics.apiError('event');
      if (repetition.isNew(what, error.message)) log.warn({ what, error: error.message }, 'event not written');
    },
  });
  const statusWriter = new StatusWriter(api, cluster, {
    onWritten: (object, before) => {
      log.info({ object: statusSummary(object), was: statusSummary(before) }, 'status written');
      void recorder.statusWritten(object, before);
    },
    onError: (what, error) => {
      metrics.apiError('status');
      if (repetition.isNew(what, error.message)) log.warn({ what, error: error.message }, 'status not written');
    },
  });
  const checks = new CheckWatch((findings) => {
    const shown = findings.map(({ check, found, detail, cure }) => ({ check, found, detail, cure }));
    if (shown.length > 0) {
      repetition.isNew('checks', JSON.stringify(shown));
      log.warn({ findings: shown }, 'checks of the host');
    } else if (repetition.isOver('checks')) log.info('checks of the host find nothing any more');
    reconciler.trigger('checks');
  });
  const reconciler = new Reconciler({
    node,
    findings: () => checks.current,
    cluster,
    datapath,
    statusWriter,
    log,
    onApplied: (applied) => {
      metrics.applied(applied);
      void recorder.driftRepaired(applied.repairs, cluster.stores.nodes.get(node)?.metadata?.uid);
    },
    onFirstPass: () => {
      isReady = true;
      log.info({ ms: Math.round(process.uptime() * 1000) }, 'ready');
      // After the first pass: the checks start a dozen processes, and no mapping need wait for them.
      checks.start().catch((error: Error) => log.warn({ error: error.message }, 'cannot check the host'));
    },
  });
  const monitor = new DriftMonitor({
    onDrift: (subject, what) => {
      metrics.drift(subject);
      datapath.distrust(subject);
      reconciler.trigger(what);
    },
    onError: (error) => log.warn({ error: error.message }, 'kernel monitor'),
    isOwnCommit: (processId) => datapath.isOwnCommit(processId),
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      monitor.stop();
      log.info({ signal }, 'stopping, the datapath stays');
      process.exit(0);
    });
  }

  if (options.healthPort > 0)
    await serveHealth(options.healthPort, { isReady: () => isReady, metrics: () => metrics.text() });
  monitor.start();
  // The kernel is looked at while the lists are on their way.
  await Promise.all([
    cluster.start(),
    datapath.look().catch((error: Error) => log.warn({ error: error.message }, 'cannot read the kernel yet')),
  ]);
  reconciler.start();
}
