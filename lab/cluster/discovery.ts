/** /api, /apis and below: what the server serves, plain and aggregated (apidiscovery.k8s.io/v2). */
import { apiVersionOf, type Registry, type Resource } from './resource.ts';

const statusVerbs = ['get', 'patch', 'update'];

interface ApiResource {
  name: string;
  singularName: string;
  namespaced: boolean;
  kind: string;
  verbs: readonly string[];
  shortNames?: readonly string[];
  categories?: readonly string[];
  group?: string;
  version?: string;
}

/** Resources that only answer a question and store nothing. */
export const reviews = [
  { group: 'authorization.k8s.io', version: 'v1', plural: 'selfsubjectaccessreviews', kind: 'SelfSubjectAccessReview' },
  { group: 'authentication.k8s.io', version: 'v1', plural: 'selfsubjectreviews', kind: 'SelfSubjectReview' },
] as const;

export const version = {
  major: '1',
  minor: '32',
  gitVersion: 'v1.32.0+kuport-lab',
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: 'linux/amd64',
};

/** Newest first; the core group is ''. */
function groupsOf(registry: Registry): Map<string, string[]> {
  const groups = registry.groups();
  for (const review of reviews) groups.set(review.group, [review.version]);
  return groups;
}

function group(name: string, versions: readonly string[]): object {
  const entries = versions.map((each) => ({ groupVersion: `${name}/${each}`, version: each }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

export function apiVersions(): object {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
}

export function apiGroupList(registry: Registry): object {
  const groups = [...groupsOf(registry)].filter(([name]) => name !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(([name, versions]) => group(name, versions)) };
}

export function apiGroup(registry: Registry, name: string): object | undefined {
  const versions = groupsOf(registry).get(name);
  if (versions === undefined || name === '') return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...group(name, versions) };
}

export function apiResourceList(registry: Registry, name: string, wanted: string): object | undefined {
  if (!groupsOf(registry).get(name)?.includes(wanted)) return undefined;
  const resources: ApiResource[] = registry
    .all()
    .filter((resource) => resource.group === name && resource.version === wanted)
    .flatMap(apiResources);
  for (const review of reviews) {
    if (review.group !== name) continue;
    const singularName = review.kind.toLowerCase();
    resources.push({ name: review.plural, singularName, namespaced: false, kind: review.kind, verbs: ['create'] });
  }
  const groupVersion = apiVersionOf({ group: name, version: wanted });
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

function apiResources(resource: Resource): ApiResource[] {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories } = resource;
  const main: ApiResource = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
  if (!resource.hasStatus) return [main];
  return [main, { name: `${plural}/status`, singularName: '', namespaced, kind, verbs: statusVerbs }];
}

/** The media type of aggregated discovery, if the Accept header asks for it. */
export function aggregatedType(accept: string | undefined): string | undefined {
  for (const part of (accept ?? '').split(',')) {
    const words = part.split(';').map((word) => word.trim());
    if (words.includes('g=apidiscovery.k8s.io') && words.includes('v=v2')) {
      return 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    }
  }
  return undefined;
}

/** `core` gives what /api answers, otherwise what /apis answers. */
export function aggregatedDiscovery(registry: Registry, core: boolean): object {
  const groups = [...groupsOf(registry)].filter(([name]) => (name === '') === core);
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(([name, versions]) => ({
      metadata: name === '' ? {} : { name },
      versions: versions.map((each) => ({
        version: each,
        freshness: 'Current',
        resources: discovered(registry, name, each),
      })),
    })),
  };
}

function discovered(registry: Registry, groupName: string, groupVersion: string): object[] {
  const stored = registry
    .all()
    .filter((resource) => resource.group === groupName && resource.version === groupVersion)
    .map((resource) => {
      const responseKind = { group: resource.group, version: resource.version, kind: resource.kind };
      return {
        resource: resource.plural,
        responseKind,
        scope: resource.namespaced ? 'Namespaced' : 'Cluster',
        singularResource: resource.singular,
        verbs: resource.verbs,
        ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
        ...(resource.categories.length === 0 ? {} : { categories: resource.categories }),
        ...(resource.hasStatus ? { subresources: [{ subresource: 'status', responseKind, verbs: statusVerbs }] } : {}),
      };
    });
  const questions = reviews
    .filter((review) => review.group === groupName)
    .map((review) => ({
      resource: review.plural,
      responseKind: { group: review.group, version: review.version, kind: review.kind },
      scope: 'Cluster',
      singularResource: review.kind.toLowerCase(),
      verbs: ['create'],
    }));
  return [...stored, ...questions];
}
