/** /openapi/v3: per group and version the kinds' schemas and just the paths kubectl looks at (apply, explain, edit). */
import { createHash } from 'node:crypto';
import { apiVersionOf, type Registry, type Resource } from './resource.ts';
import type { Schema } from './schema.ts';

const metadataName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
  name,
  in: 'query',
  schema: { type: 'string', uniqueItems: true },
}));

function prefixOf(groupVersion: { group: string; version: string }): string {
  return groupVersion.group === '' ? `api/${groupVersion.version}` : `apis/${apiVersionOf(groupVersion)}`;
}

function schemaName(resource: Resource): string {
  const reversed = resource.group === '' ? 'io.k8s.api.core' : resource.group.split('.').reverse().join('.');
  return `${reversed}.${resource.version}.${resource.kind}`;
}

function documentedSchema(resource: Resource): object {
  const own: Schema = resource.schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const text = (description: string): object => ({ type: 'string', description });
  return {
    ...own,
    properties: {
      ...own.properties,
      apiVersion: text('APIVersion defines the versioned schema of this representation of an object.'),
      kind: text('Kind is a string value representing the REST resource this object represents.'),
      metadata: {
        description: "Standard object's metadata.",
        allOf: [{ $ref: `#/components/schemas/${metadataName}` }],
        default: {},
      },
      ...(resource.schema === undefined
        ? {
            spec: { type: 'object', description: `Specification of the ${resource.kind}.` },
            status: { type: 'object', description: `Most recently observed status of the ${resource.kind}.` },
          }
        : {}),
    },
    'x-kubernetes-group-version-kind': [kindOf(resource)],
  };
}

function kindOf({ group, version, kind }: Resource): object {
  return { group, version, kind };
}

/** Index of /openapi/v3: where each group and version is described. */
export function openApiIndex(registry: Registry): object {
  const paths: Record<string, object> = {};
  for (const resource of registry.all()) {
    const prefix = prefixOf(resource);
    paths[prefix] ??= { serverRelativeURL: `/openapi/v3/${prefix}?hash=${hashOf(registry, prefix)}` };
  }
  return { paths };
}

function hashOf(registry: Registry, prefix: string): string {
  return createHash('sha256')
    .update(JSON.stringify(openApiDocument(registry, prefix)))
    .digest('hex')
    .toUpperCase();
}

/** The document of one group and version, `prefix` being `api/v1` or `apis/group/version`; undefined for none such. */
export function openApiDocument(registry: Registry, prefix: string): object | undefined {
  const resources = registry.all().filter((resource) => prefixOf(resource) === prefix);
  if (resources.length === 0) return undefined;
  const schemas: Record<string, object> = {
    [metadataName]: {
      type: 'object',
      description: 'ObjectMeta is metadata that all persisted resources must have.',
      properties: {
        name: { type: 'string' },
        namespace: { type: 'string' },
        labels: { type: 'object', additionalProperties: { type: 'string', default: '' } },
        annotations: { type: 'object', additionalProperties: { type: 'string', default: '' } },
      },
    },
  };
  const paths: Record<string, object> = {};
  for (const resource of resources) {
    const name = schemaName(resource);
    schemas[name] = documentedSchema(resource);
    const scope = resource.namespaced ? 'namespaces/{namespace}/' : '';
    const reply = {
      200: { description: 'OK', content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } } },
    };
    const kind = { 'x-kubernetes-group-version-kind': kindOf(resource) };
    // kubectl reads from here whether the server checks unknown fields itself. Strategic merge is left out on purpose:
    // kubectl then takes merge keys from its own Go types instead of looking for them in these bare schemas.
    const content = { 'application/merge-patch+json': { schema: { type: 'object' } } };
    const patch = { operationId: `patch${resource.kind}`, parameters, requestBody: { content }, responses: reply };
    const create = { operationId: `create${resource.kind}`, parameters, responses: reply };
    paths[`/${prefix}/${scope}${resource.plural}`] = { post: { ...create, 'x-kubernetes-action': 'post', ...kind } };
    paths[`/${prefix}/${scope}${resource.plural}/{name}`] = {
      patch: { ...patch, 'x-kubernetes-action': 'patch', ...kind },
    };
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.32.0+kuport-lab' },
    paths,
    components: { schemas },
  };
}
