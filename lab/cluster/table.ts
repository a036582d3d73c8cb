/** meta.k8s.io/v1 Table: objects as rows of cells, which is what `kubectl get` asks for. */
import type { KubeObject } from './object.ts';
import type { Resource } from './resource.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface Table {
  kind: 'Table';
  apiVersion: 'meta.k8s.io/v1';
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  columnDefinitions: { name: string; type: string; format: string; description: string; priority: number }[];
  rows: { cells: (string | number | boolean | null)[]; object?: unknown }[];
}

/** Whether an Accept header asks for a Table before plain JSON; v1beta1 of it is long gone. */
export function asksForTable(accept: string | undefined): boolean {
  for (const part of (accept ?? '').split(',')) {
    const words = part.split(';').map((word) => word.trim());
    if (words.includes('as=Table') && words.includes('v=v1')) return true;
    if (words[0] === 'application/json' && words.every((word) => !word.startsWith('as='))) return false;
  }
  return false;
}

export function table(
  resource: Resource,
  objects: readonly KubeObject[],
  metadata: Table['metadata'],
  include: IncludeObject,
): Table {
  const now = Date.now();
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: resource.columns.map(({ name, type, format, description, priority }) => ({
      name,
      type,
      format: format ?? '',
      description: description ?? '',
      priority,
    })),
    rows: objects.map((object) => ({
      cells: resource.columns.map((column) => column.cell(object, now)),
      ...rowObject(object, include),
    })),
  };
}

function rowObject(object: KubeObject, include: IncludeObject): { object?: unknown } {
  if (include === 'None') return {};
  if (include === 'Object') return { object };
  return { object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata } };
}
