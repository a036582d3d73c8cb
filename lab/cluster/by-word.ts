/** Objects found by the words kubectl takes: plural, singular, kind or short name. */
import type { ClusterClient } from './client.ts';

interface ResourceEntry {
  name: string;
  kind: string;
  singularName: string;
  shortNames?: string[];
}

export interface ObjectTable {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: (string | number | boolean | null)[]; object: { metadata: { namespace?: string; name: string } } }[];
}

/** @throws Error naming the kinds there are */
async function pathOf(cluster: ClusterClient, word: string): Promise<string> {
  const { groups } = await cluster.call<{ groups: { preferredVersion: { groupVersion: string } }[] }>('GET', '/apis');
  const roots = ['/api/v1', ...groups.map((group) => `/apis/${group.preferredVersion.groupVersion}`)];
  const known: string[] = [];
  for (const root of roots) {
    const { resources } = await cluster.call<{ resources: ResourceEntry[] }>('GET', root);
    for (const { name, kind, singularName, shortNames = [] } of resources) {
      if (name.includes('/')) continue;
      if ([name, kind.toLowerCase(), singularName, ...shortNames].includes(word.toLowerCase()))
        return `${root}/${name}`;
      known.push(name);
    }
  }
  throw new Error(`the lab's API serves no "${word}": it serves ${known.sort().join(', ')}`);
}

/** The table that `kubectl get` prints. */
export async function tableByWord(cluster: ClusterClient, word: string): Promise<ObjectTable> {
  return cluster.table<ObjectTable>(await pathOf(cluster, word));
}

export async function listByWord(cluster: ClusterClient, word: string): Promise<unknown[]> {
  return (await cluster.call<{ items: unknown[] }>('GET', await pathOf(cluster, word))).items;
}
