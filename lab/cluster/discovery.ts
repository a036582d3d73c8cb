/** What the server tells about itself: groups, resources, version, and just enough OpenAPI for kubectl. */
import { groupVersion, type Registry, type Resource } from './resources.ts';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

export const version = {
  major: '1',
  minor: '32',
  gitVersion: 'v1.32.0-lab',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: `${process.platform}/${process.arch}`,
};

function resourceEntries(resource: Resource): Record<string, unknown>[] {
  const { plural, singular, kind, namespaced, shortNames, statusSubresource } = resource;
  const entry = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
  };
  const status = { name: `${plural}/status`, singularName: '', namespaced, kind, verbs: ['get', 'patch', 'update'] };
  return statusSubresource ? [entry, status] : [entry];
}

export function groupVersions(registry: Registry): string[] {
  return [...new Set(registry.all().map(groupVersion))].sort();
}

export function resourceList(registry: Registry, wanted: string): Record<string, unknown> {
  const resources = registry.all().filter((each) => groupVersion(each) === wanted);
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: wanted,
    resources: resources.flatMap(resourceEntries),
  };
}

function group(registry: Registry, name: string): Record<string, unknown> {
  const versions = groupVersions(registry)
    .filter((each) => each.startsWith(`${name}/`))
    .map((each) => ({ groupVersion: each, version: each.slice(name.length + 1) }));
  return { name, versions, preferredVersion: versions[0] };
}

export function groupNames(registry: Registry): string[] {
  return [...new Set(registry.all().map((each) => each.group))].filter((name) => name !== '').sort();
}

export function groupList(registry: Registry): Record<string, unknown> {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groupNames(registry).map((name) => group(registry, name)) };
}

export function singleGroup(registry: Registry, name: string): Record<string, unknown> {
  return { kind: 'APIGroup', apiVersion: 'v1', ...group(registry, name) };
}

export function coreVersions(): Record<string, unknown> {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
}

function openApiPath(name: string): string {
  return name.includes('/') ? `apis/${name}` : `api/${name}`;
}

export function openApiIndex(registry: Registry): Record<string, unknown> {
  const paths = groupVersions(registry).map((name) => [
    openApiPath(name),
    { serverRelativeURL: `/openapi/v3/${openApiPath(name)}?hash=lab` },
  ]);
  return { paths: Object.fromEntries(paths) as unknown };
}

/**
 * OpenAPI v3 of one group version: the schema of each custom resource for `kubectl explain`, and for every kind a PATCH
 * that takes fieldValidation, by which kubectl finds that the server checks fields itself.
 */
export function openApi(registry: Registry, wanted: string): Record<string, unknown> {
  const resources = registry.all().filter((each) => groupVersion(each) === wanted);
  const schemaName = (resource: Resource): string =>
    [...resource.group.split('.').reverse(), resource.version, resource.kind].filter((part) => part !== '').join('.');
  const gvk = ({ group: name, version: of, kind }: Resource): Record<string, string> => ({
    group: name,
    version: of,
    kind,
  });
  const paths = resources.map((resource) => {
    const base = `/${openApiPath(wanted)}${resource.namespaced ? '/namespaces/{namespace}' : ''}/${resource.plural}/{name}`;
    const parameter = { name: 'fieldValidation', in: 'query', schema: { type: 'string', uniqueItems: true } };
    const operation = { 'x-kubernetes-group-version-kind': gvk(resource), parameters: [parameter], responses: {} };
    return [base, { get: operation, patch: { ...operation, 'x-kubernetes-action': 'patch' }, put: operation }];
  });
  const schemas = resources.map((resource) => [
    schemaName(resource),
    { ...(resource.schema ?? { type: 'object' }), 'x-kubernetes-group-version-kind': [gvk(resource)] },
  ]);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: version.gitVersion },
    paths: Object.fromEntries(paths) as unknown,
    components: { schemas: Object.fromEntries(schemas) as unknown },
  };
}
