/** The API itself: a request in, a reply out, whatever the connection. */
import type { ServerResponse } from 'node:http';
import { builtinResources } from './builtins.ts';
import { crdResource, followDefinition, forgetDefinition } from './crd.ts';
import type { FieldValidation, WriteOptions } from './decoding.ts';
import { type DeleteOptions, type Deletion, remove } from './deletion.ts';
import { answerDiscovery } from './discovery-paths.ts';
import { Lister, selection, versionParameter } from './listing.ts';
import { isObject, type KubeObject } from './object.ts';
import { jsonPatch, mergePatch } from './patch.ts';
import { type ApiRequest, findTarget, parseBody, type Target } from './request.ts';
import { apiVersionOf, Registry, type Resource } from './resource.ts';
import { answerReview } from './reviews.ts';
import { badRequest, methodNotAllowed, notFound, type Status, unsupportedMediaType } from './status.ts';
import { Store, type StoreOptions } from './store.ts';
import { strategicMerge } from './strategic-merge.ts';
import { asksForTable, type IncludeObject, table } from './table.ts';
import { Watch } from './watch.ts';
import { create, shown, update } from './writes.ts';

export interface Reply {
  code: number;
  body: unknown;
  contentType?: string;
  warnings?: readonly string[];
}

export interface ApiOptions extends StoreOptions {
  /** Seconds between bookmarks. Default 60. */
  bookmarkSeconds?: number;
}

const initialNamespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

export class Api {
  readonly store: Store;
  readonly registry = new Registry();
  readonly #deletion: Deletion;
  readonly #lister: Lister;
  readonly #watches = new Map<Watch, { user: string; path: string; startedAt: number }>();
  readonly #bookmarkMilliseconds: number;

  constructor(options: ApiOptions = {}) {
    this.store = new Store(options);
    this.#lister = new Lister(this.store);
    this.#deletion = { store: this.store, registry: this.registry };
    this.#bookmarkMilliseconds = (options.bookmarkSeconds ?? 60) * 1000;
    for (const resource of builtinResources) this.registry.add(resource);
    this.registry.add(crdResource);
    this.store.subscribe(crdResource.collection, (change) => {
      if (change.type === 'DELETED') forgetDefinition(this.registry, change.object);
      else followDefinition(this.registry, change.object, change.previous);
    });
    for (const name of initialNamespaces) {
      this.create('v1', 'Namespace', undefined, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
  }

  /** Creates an object from inside the server. Throws ApiError as the same POST would. */
  create(apiVersion: string, kind: string, namespace: string | undefined, body: unknown): KubeObject {
    const resource = this.registry.findKind(apiVersion, kind);
    if (resource === undefined) throw badRequest(`no resource is served for ${apiVersion} ${kind}`);
    const options: WriteOptions = { dryRun: false, fieldValidation: 'Strict', warnings: [] };
    return create(this.#deletion, resource, namespace, body, options);
  }

  /** Forgets past changes and open pages: watches and lists from before get 410. */
  compact(): void {
    this.store.compact();
    this.#lister.compact();
  }

  /** Ends every open watch cleanly, as a restart or a time-out does. Returns how many there were. */
  endWatches(): number {
    const open = [...this.#watches.keys()];
    for (const watch of open) watch.end();
    return open.length;
  }

  /** Who watches what, and for how long already in milliseconds. */
  openWatches(): { user: string; path: string; milliseconds: number }[] {
    return [...this.#watches.values()].map(({ user, path, startedAt }) => ({
      ...{ user, path },
      milliseconds: performance.now() - startedAt,
    }));
  }

  /** The reply, or undefined where a watch has taken over the response. Throws ApiError. */
  handle(request: ApiRequest, response: ServerResponse): Reply | undefined {
    const known = answerDiscovery(this.registry, request) ?? answerReview(request);
    if (known !== undefined) return known;
    const target = findTarget(this.registry, request.path);
    const isWatch = ['true', '1'].includes(request.query.get('watch') ?? '');
    switch (request.method) {
      case 'GET':
        if (isWatch) return this.#watch(target, request, response);
        return target.name === undefined ? this.#list(target, request) : this.#get(target, request);
      case 'POST':
        return this.#create(target, request);
      case 'PUT':
        return this.#update(target, request);
      case 'PATCH':
        return this.#patch(target, request);
      case 'DELETE':
        return target.name === undefined ? this.#deleteCollection(target, request) : this.#delete(target, request);
      default:
        throw methodNotAllowed();
    }
  }

  #get(target: Target, request: ApiRequest): Reply {
    const { resource, namespace, name = '' } = target;
    const stored = this.store.get(resource.collection, namespace, name);
    if (stored === undefined) throw notFound(resource, name);
    return present(resource, shown(resource, stored), request, 200);
  }

  #list(target: Target, request: ApiRequest): Reply {
    const { resource } = target;
    const { objects, metadata } = this.#lister.list(target, request.query);
    if (asksForTable(request.accept)) {
      return { code: 200, body: table(resource, objects, metadata, includeObject(request)) };
    }
    const list = { kind: resource.listKind, apiVersion: apiVersionOf(resource), metadata, items: objects };
    return { code: 200, body: list };
  }

  #watch(target: Target, request: ApiRequest, response: ServerResponse): undefined {
    const { query } = request;
    // Spread over half an hour, so that clients do not all come back at once.
    const seconds = Number(query.get('timeoutSeconds') ?? 0) || 1800 + Math.floor(Math.random() * 1800);
    const flag = (name: string): boolean => ['true', '1'].includes(query.get(name) ?? '');
    const options = {
      namespace: target.namespace,
      picked: selection(target, query),
      version: versionParameter(query),
      sendInitialEvents: flag('sendInitialEvents'),
      bookmarks: flag('allowWatchBookmarks'),
      bookmarkMilliseconds: this.#bookmarkMilliseconds,
      timeoutMilliseconds: seconds * 1000,
      table: asksForTable(request.accept) ? includeObject(request) : undefined,
    };
    const watch = new Watch(this.store, target.resource, options, response);
    this.#watches.set(watch, { user: request.user.name, path: request.path, startedAt: performance.now() });
    response.on('close', () => this.#watches.delete(watch));
    watch.start();
    return undefined;
  }

  #create(target: Target, request: ApiRequest): Reply {
    const { resource, namespace, name } = target;
    if (name !== undefined || (resource.namespaced && namespace === undefined)) throw methodNotAllowed();
    const options = writeOptions(request);
    const object = create(this.#deletion, resource, namespace, parseBody(request), options);
    return present(resource, object, request, 201, options.warnings);
  }

  #update(target: Target, request: ApiRequest): Reply {
    const { resource, namespace, name, subresource } = target;
    if (name === undefined) throw methodNotAllowed();
    const options = writeOptions(request);
    const body = parseBody(request);
    const part = subresource === 'status' ? 'status' : '';
    const object = update(this.#deletion, resource, namespace, name, part, 'PUT', () => body, options);
    return present(resource, object, request, 200, options.warnings);
  }

  #patch(target: Target, request: ApiRequest): Reply {
    const { resource, namespace, name, subresource } = target;
    if (name === undefined) throw methodNotAllowed();
    const options = writeOptions(request);
    const patched = patcher(resource, request);
    const part = subresource === 'status' ? 'status' : '';
    const object = update(this.#deletion, resource, namespace, name, part, 'PATCH', patched, options);
    return present(resource, object, request, 200, options.warnings);
  }

  #delete(target: Target, request: ApiRequest): Reply {
    const { resource, namespace, name = '', subresource } = target;
    if (subresource !== '') throw methodNotAllowed();
    const { object, gone } = remove(this.#deletion, resource, namespace, name, deleteOptions(request));
    const returnsObject = resource.group === '' && ['pods', 'services', 'namespaces'].includes(resource.plural);
    if (!gone || returnsObject) return present(resource, shown(resource, object), request, 200);
    const { uid } = object.metadata;
    const status: Status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: {
        name,
        ...(resource.group === '' ? {} : { group: resource.group }),
        kind: resource.plural,
        ...(uid === undefined ? {} : { uid }),
      },
    };
    return { code: 200, body: status };
  }

  #deleteCollection(target: Target, request: ApiRequest): Reply {
    const { resource, namespace } = target;
    if (!resource.verbs.includes('deletecollection') || (resource.namespaced && namespace === undefined)) {
      throw methodNotAllowed();
    }
    const { objects, metadata } = this.#lister.list(target, request.query);
    const options = deleteOptions(request);
    for (const object of objects)
      remove(this.#deletion, resource, object.metadata.namespace, object.metadata.name, options);
    const list = { kind: resource.listKind, apiVersion: apiVersionOf(resource), metadata, items: objects };
    return { code: 200, body: list };
  }
}

function includeObject(request: ApiRequest): IncludeObject {
  const wanted = request.query.get('includeObject') ?? 'Metadata';
  return wanted === 'None' || wanted === 'Object' ? wanted : 'Metadata';
}

function present(
  resource: Resource,
  object: KubeObject,
  request: ApiRequest,
  code: number,
  warnings: readonly string[] = [],
): Reply {
  if (!asksForTable(request.accept)) return { code, body: object, warnings };
  const { resourceVersion } = object.metadata;
  const metadata = resourceVersion === undefined ? {} : { resourceVersion };
  return { code, body: table(resource, [object], metadata, includeObject(request)), warnings };
}

function writeOptions(request: ApiRequest): WriteOptions {
  const wanted = request.query.get('fieldValidation') ?? '';
  const levels: readonly FieldValidation[] = ['Ignore', 'Warn', 'Strict'];
  const fieldValidation = levels.find((level) => level === (wanted || 'Warn'));
  if (fieldValidation === undefined) {
    throw badRequest(`fieldValidation: Unsupported value: "${wanted}": supported values: "Ignore", "Warn", "Strict"`);
  }
  return { dryRun: request.query.get('dryRun') === 'All', fieldValidation, warnings: [] };
}

function deleteOptions(request: ApiRequest): DeleteOptions {
  const body = request.body.length === 0 ? {} : parseBody(request);
  if (!isObject(body)) throw badRequest('DeleteOptions must be an object');
  const { preconditions, propagationPolicy, dryRun } = body as {
    preconditions?: DeleteOptions['preconditions'];
    propagationPolicy?: DeleteOptions['propagationPolicy'];
    dryRun?: string[];
  };
  const policy = (request.query.get('propagationPolicy') ?? propagationPolicy) as DeleteOptions['propagationPolicy'];
  return {
    ...(isObject(preconditions) ? { preconditions } : {}),
    ...(policy === undefined ? {} : { propagationPolicy: policy }),
    dryRun: request.query.get('dryRun') === 'All' || (dryRun?.includes('All') ?? false),
  };
}

/** How a PATCH turns the current object into the wanted one. Throws 415 for a kind of patch the resource does not take. */
function patcher(resource: Resource, request: ApiRequest): (current: KubeObject) => unknown {
  const { contentType } = request;
  const accepted = ['application/json-patch+json', 'application/merge-patch+json'];
  if (resource.strategicMerge) accepted.push('application/strategic-merge-patch+json');
  if (!accepted.includes(contentType)) throw unsupportedMediaType(accepted);
  const body = parseBody(request);
  if (contentType === 'application/json-patch+json') return (current) => jsonPatch(current, body);
  if (!isObject(body)) throw badRequest('a merge patch must be a JSON object');
  if (contentType === 'application/merge-patch+json') return (current) => mergePatch(current, body);
  return (current) => strategicMerge(resource.kind, current, body);
}
