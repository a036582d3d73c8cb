/** Lists: selectors, versions, and pages that all show the same moment. */
import type { KubeObject } from './object.ts';
import type { Target } from './request.ts';
import { fieldSelector, labelSelector, type Predicate } from './selectors.ts';
import { ApiError, badRequest, tooLargeVersion } from './status.ts';
import type { Store } from './store.ts';
import { shown } from './writes.ts';

export interface Listing {
  objects: KubeObject[];
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
}

interface Page {
  version: string;
  objects: KubeObject[];
}

/** Pages not yet fetched by their continue token; the oldest go first. */
const openPages = 200;

/** Which objects a request's selectors pick. */
export function selection(target: Target, query: URLSearchParams): Predicate {
  const { resource, name } = target;
  const labels = query.get('labelSelector');
  const fields = query.get('fieldSelector');
  const predicates: Predicate[] = [];
  if (labels) predicates.push(labelSelector(labels));
  if (fields) predicates.push(fieldSelector(fields, resource.selectableFields, resource.plural));
  if (name !== undefined) predicates.push((object) => object.metadata.name === name);
  return (object) => predicates.every((predicate) => predicate(object));
}

/** A resourceVersion parameter as a number; undefined for none. Throws 400 for what is no number. */
export function versionParameter(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  if (!/^\d+$/.test(text)) throw badRequest(`Invalid value: "${text}": resourceVersion: must be a number`);
  return Number(text);
}

export class Lister {
  readonly #store: Store;
  readonly #pages = new Map<string, Page>();
  #nextPage = 1;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Throws 400, 410 (a page no longer kept, an exact version that has passed) or 504 (a version not reached yet). */
  list(target: Target, query: URLSearchParams): Listing {
    const token = query.get('continue');
    const page = token ? this.#page(token) : this.#firstPage(target, query);
    const limit = Number(query.get('limit') ?? 0);
    if (!Number.isInteger(limit) || limit < 0)
      throw badRequest(`limit must be a whole number, was ${query.get('limit')}`);
    if (limit === 0 || page.objects.length <= limit) {
      return { objects: page.objects, metadata: { resourceVersion: page.version } };
    }
    const rest = page.objects.slice(limit);
    return {
      objects: page.objects.slice(0, limit),
      metadata: {
        resourceVersion: page.version,
        continue: this.#keep({ version: page.version, objects: rest }),
        remainingItemCount: rest.length,
      },
    };
  }

  /** Forgets all pages, as a compaction does. */
  compact(): void {
    this.#pages.clear();
  }

  #firstPage(target: Target, query: URLSearchParams): Page {
    const { resource, namespace } = target;
    const wanted = versionParameter(query);
    const current = this.#store.version;
    if (wanted !== undefined && wanted > current) throw tooLargeVersion(wanted, current);
    if (query.get('resourceVersionMatch') === 'Exact' && wanted !== undefined && wanted !== current) {
      throw new ApiError(410, 'Expired', `The resourceVersion for the provided list is too old: ${wanted}`);
    }
    const picked = selection(target, query);
    const objects = this.#store
      .list(resource.collection, namespace)
      .map((stored) => shown(resource, stored))
      .filter(picked);
    return { version: String(current), objects };
  }

  #page(token: string): Page {
    const page = this.#pages.get(token);
    if (page === undefined) {
      const message =
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';
      throw new ApiError(410, 'Expired', message);
    }
    return page;
  }

  #keep(page: Page): string {
    const token = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', page: this.#nextPage++ })).toString('base64url');
    this.#pages.set(token, page);
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > openPages && oldest !== undefined) this.#pages.delete(oldest);
    return token;
  }
}
