/** `lab graph`: the topology as Mermaid or SVG. */
import { pictureOf } from '../evidence/picture-of.ts';
import { topologyMermaid } from '../evidence/topology-mermaid.ts';
import { topologySvg } from '../evidence/topology-svg.ts';
import { loadTopology } from '../topology/load.ts';

export function graphCommand(topology: string, format: string): number {
  const picture = pictureOf(loadTopology(topology), null);
  process.stdout.write(`${format === 'svg' ? topologySvg(picture) : topologyMermaid(picture)}\n`);
  return 0;
}
