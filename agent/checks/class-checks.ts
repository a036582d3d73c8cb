/** What a node makes of the classes that name it. */

import { judgeClasses } from '../plan/classes.ts';
import { hostBypass } from '../plan/cni.ts';
import type { HostFacts } from '../plan/node-plan.ts';
import { nodeRow } from '../plan/node-row.ts';
import { byName, type ClusterSnapshot } from '../plan/snapshot.ts';
import { type Finding, failed, ok } from './finding.ts';

/** The CNI of the cluster, and each class of which the node is an accepting node or holds a row. */
export function checkClasses(snapshot: ClusterSnapshot, node: string, host: HostFacts): Finding[] {
  const bypass = hostBypass(snapshot.cniConfig);
  const verdicts = judgeClasses(snapshot);
  const cni =
    bypass === null
      ? ok('cluster/cni', snapshot.cniConfig === undefined ? 'no configuration of Cilium' : "uses the host's stack")
      : failed('cluster/cni', bypass.why, bypass.cure);
  const classes = snapshot.classes
    .filter(({ spec, status }) => Object.hasOwn(spec.nodes, node) || status?.nodes?.some((row) => row.name === node))
    .sort((a, b) => byName(a.metadata.name, b.metadata.name));
  return [
    cni,
    ...classes.flatMap((each): Finding[] => {
      const check = `class/${each.metadata.name}`;
      const verdict = verdicts.get(each.metadata.name);
      const row = nodeRow(snapshot, each, node, { ...host, findings: { failed: [], warnings: [] } });
      if (verdict !== undefined && !verdict.ok)
        return [{ check, status: 'failed', found: `${verdict.reason}: ${verdict.message}` }];
      if (!row.ready) return [{ check, status: 'failed', found: row.message }];
      const addresses = Object.entries(row.addresses ?? {}).map(([name, address]) => `${name} ${address}`);
      return [ok(check, addresses.length === 0 ? 'can be served' : `can be served on ${addresses.join(', ')}`)];
    }),
  ];
}
