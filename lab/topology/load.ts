/** Reads a topology file and says exactly where it is wrong. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { projectRoot } from '../project.ts';
import { checkAddressPlan, type TopologyProblem } from './address-plan.ts';
import { topologySchema } from './schema.ts';
import type { Topology } from './topology.ts';

/** A topology file that cannot be used; the message has one line per problem: file:line: field: what and what to do. */
export class TopologyError extends Error {
  override readonly name = 'TopologyError';
}

const topologiesFolder = join(projectRoot, 'lab', 'topologies');

/** Names of the topologies that come with the lab. */
export function builtInTopologies(): string[] {
  return readdirSync(topologiesFolder)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => basename(file, '.yaml'))
    .sort();
}

/**
 * @param nameOrPath of a topology that comes with the lab (`home-edge`) or of a file (anything with a `/` or `.yaml`)
 * @throws TopologyError
 */
export function loadTopology(nameOrPath: string): Topology {
  const isPath = nameOrPath.includes('/') || nameOrPath.endsWith('.yaml');
  const path = isPath ? nameOrPath : join(topologiesFolder, `${nameOrPath}.yaml`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const known = `topologies that come with the lab: ${builtInTopologies().join(', ')}; or give a path to a YAML file`;
    throw new TopologyError(`cannot read topology ${path}: ${(error as Error).message.replace(/,.*/, '')}; ${known}`);
  }
  return parseTopology(text, path);
}

/** @throws TopologyError */
export function parseTopology(text: string, file: string): Topology {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0) {
    throw new TopologyError(
      document.errors
        .map((error) => `${file}:${error.linePos?.[0].line ?? 1}: ${error.message.split('\n')[0]}`)
        .join('\n'),
    );
  }
  const parsed = topologySchema.safeParse(document.toJS() as unknown);
  const problems: TopologyProblem[] = parsed.success
    ? checkAddressPlan(parsed.data)
    : parsed.error.issues.flatMap((issue) => {
        const path = issue.path as (string | number)[];
        if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
        return issue.keys.map((key) => ({ path: [...path, key], message: 'no such field' }));
      });
  if (parsed.success && problems.length === 0) return parsed.data;
  throw new TopologyError(problems.map((problem) => `${file}:${describe(problem, document, lines)}`).join('\n'));
}

function describe({ path, message }: TopologyProblem, document: Document, lines: LineCounter): string {
  // A missing field has no place of its own: point at the nearest thing around it.
  for (let length = path.length; length >= 0; length--) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (!isNode(node) || !node.range) continue;
    const line = lines.linePos(node.range[0]).line;
    const value = length === path.length ? shortValue(document.getIn(path)) : '';
    return `${line}: ${path.join('.') || 'topology'}${value}: ${message}`;
  }
  return `1: ${path.join('.')}: ${message}`;
}

function shortValue(value: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof value) ? ` = ${JSON.stringify(value)}` : '';
}
