/** One golden case: manifests in, and what every node would hold and say of them out, as text files. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { readSnapshot } from '../agent/commands/manifests.ts';
import { renderNode } from '../agent/commands/render.ts';

export const goldenFolder = fileURLToPath(new URL('.', import.meta.url));

export function goldenCases(): string[] {
  return readdirSync(goldenFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/**
 * File name -> text: `<node>.nft`, `<node>.ip` for each node that holds anything, and `status.yaml` with what is
 * written to the mappings and which slots are claimed.
 */
export function renderCase(name: string): Map<string, string> {
  const file = join(goldenFolder, name, 'manifests.yaml');
  const snapshot = readSnapshot([{ file, text: readFileSync(file, 'utf8') }]);
  const files = new Map<string, string>();
  const statuses: Record<string, unknown> = {};
  const claims: string[] = [];
  for (const node of snapshot.nodes.map((each) => each.metadata?.name ?? '').sort()) {
    const { nft, ip, plan } = renderNode(snapshot, node);
    if (plan.deliveries.length > 0) files.set(`${node}.nft`, nft);
    if (ip !== '') files.set(`${node}.ip`, ip);
    for (const { namespace, name: portMap, ...status } of plan.portMapStatuses) {
      statuses[`${namespace}/${portMap}`] = { writer: node, ...status };
    }
    claims.push(...plan.claims.map((claim) => `${node} claims a slot of ${claim.className} for ${claim.key}`));
  }
  files.set('status.yaml', stringify({ portMaps: statuses, claims }, { lineWidth: 0 }));
  return files;
}
