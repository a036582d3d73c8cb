/** `kuport-agent check`: whether this node is fit for kuport, and what to do where it is not. Changes nothing. */
import { checkClasses } from '../checks/class-checks.ts';
import { type Finding, failed, ok } from '../checks/finding.ts';
import { checkHost } from '../checks/host-checks.ts';
import { checkKernel } from '../checks/kernel.ts';
import { overall, reportText } from '../checks/report.ts';
import { checkTools } from '../checks/tools.ts';
import { ApiClient } from '../cluster/api-client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { readHostFacts } from '../datapath/host.ts';
import type { ClusterSnapshot } from '../plan/snapshot.ts';
import { InputError } from './input-error.ts';
import { loadKubeConfig } from './kubeconfig.ts';
import { readManifests } from './manifests.ts';

export interface CheckOptions {
  node?: string;
  kubeconfig?: string;
  filename?: string[];
  json?: boolean;
}

/** Exit code when something keeps mappings from working; warnings alone are 0. */
const unfitExitCode = 3;

/** Milliseconds for the API server to list what there is. */
const listTimeoutMs = 5000;

const plainWidth = 100;

/** @throws InputError; Error when the cluster cannot be asked */
export async function runCheck({ kubeconfig, filename, json = false, ...options }: CheckOptions): Promise<void> {
  // An empty NODE_NAME names nobody.
  const node = options.node || undefined;
  const isInPod = process.env.KUBERNETES_SERVICE_HOST !== undefined;
  const asksCluster = filename !== undefined || kubeconfig !== undefined || isInPod;
  if (asksCluster && node === undefined)
    throw new InputError("the node's name is needed to find its classes: give --node NAME or set NODE_NAME");
  const snapshot =
    filename !== undefined ? await readManifests(filename) : asksCluster ? await askCluster(kubeconfig) : null;
  const findings = [
    ...(await checkTools()),
    ...(await checkKernel()),
    ...(await checkHost()),
    ...(await clusterFindings(snapshot, node)),
  ];
  const status = overall(findings);
  if (json) process.stdout.write(`${JSON.stringify({ node, status, findings }, null, 2)}\n`);
  else {
    const { isTTY, columns } = process.stdout;
    const colours = isTTY && process.env.NO_COLOR === undefined;
    process.stdout.write(reportText(findings, { width: isTTY ? columns : plainWidth, colours }));
  }
  process.exitCode = status === 'failed' ? unfitExitCode : 0;
}

async function clusterFindings(snapshot: ClusterSnapshot | null, node: string | undefined): Promise<Finding[]> {
  if (snapshot === null || node === undefined)
    return [ok('cluster/classes', 'not looked at: give --node and --kubeconfig, or -f with manifests')];
  try {
    return checkClasses(snapshot, node, await readHostFacts());
  } catch (error) {
    const [found = ''] = (error as Error).message.split('\n');
    return [failed('cluster/classes', found, 'this check could not be made: see tools and kernel')];
  }
}

/** @throws InputError; Error naming what the API server did not answer */
async function askCluster(kubeconfig: string | undefined): Promise<ClusterSnapshot> {
  let trouble = 'no answer';
  const cluster = new Cluster(new ApiClient(loadKubeConfig(kubeconfig)), {
    onChange: () => undefined,
    onError: (_, error) => {
      trouble = error.message;
    },
    onSynced: () => undefined,
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const giveUp = (): void => reject(new Error(`the cluster cannot be asked: ${trouble}`));
    timer = setTimeout(giveUp, listTimeoutMs);
  });
  try {
    await Promise.race([cluster.start(), late]);
    return cluster.snapshot();
  } finally {
    clearTimeout(timer);
    cluster.stop();
  }
}
