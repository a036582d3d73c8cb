/** CustomResourceDefinitions: what makes one valid, and the resources that it makes the server serve. */
import { compileRules } from './cel.ts';
import { type DeclaredColumn, declaredColumns, plainColumns } from './columns.ts';
import { type KubeObject, timestamp } from './object.ts';
import { allVerbs, type Registry, type Resource } from './resource.ts';
import type { Schema } from './schema.ts';
import type { Cause } from './status.ts';
import { checkStructural } from './structural.ts';

interface Names {
  plural: string;
  singular?: string;
  kind: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

interface Version {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  schema?: { openAPIV3Schema?: Schema };
  subresources?: { status?: object; scale?: object };
  additionalPrinterColumns?: DeclaredColumn[];
  selectableFields?: { jsonPath: string }[];
}

interface Definition {
  group: string;
  scope: 'Namespaced' | 'Cluster';
  names: Names;
  versions: Version[];
  conversion?: { strategy: string };
}

function definitionOf(crd: KubeObject): Definition {
  const { spec } = crd as { spec?: Partial<Definition> };
  return {
    group: spec?.group ?? '',
    scope: spec?.scope ?? 'Cluster',
    names: spec?.names ?? { plural: '', kind: '' },
    versions: spec?.versions ?? [],
    ...(spec?.conversion === undefined ? {} : { conversion: spec.conversion }),
  };
}

/** Names that follow from others, and the conditions under which the server serves it: at once. */
function prepare(crd: KubeObject, previous: KubeObject | undefined): void {
  const { spec } = crd as { spec?: Definition };
  if (spec === undefined) return;
  spec.conversion ??= { strategy: 'None' };
  if (spec.names !== undefined) {
    spec.names.singular ??= spec.names.kind?.toLowerCase();
    spec.names.listKind ??= `${spec.names.kind}List`;
  }
  if (previous !== undefined) return;
  const at = timestamp(new Date());
  const condition = (type: string, reason: string, message: string): object => ({
    type,
    status: 'True',
    lastTransitionTime: at,
    reason,
    message,
  });
  crd.status = {
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
    acceptedNames: spec.names,
    storedVersions: (spec.versions ?? []).filter(({ storage }) => storage).map(({ name }) => name),
  };
}

function check(crd: KubeObject): Cause[] {
  const { group, names, versions } = definitionOf(crd);
  const causes: Cause[] = [];
  const wrong = (field: string, value: unknown, why: string): void => {
    causes.push({ reason: 'FieldValueInvalid', field, message: `Invalid value: ${JSON.stringify(value)}: ${why}` });
  };
  for (const [field, value] of [
    ['spec.group', group],
    ['spec.names.plural', names.plural],
    ['spec.names.kind', names.kind],
  ] as const) {
    if (!value) causes.push({ reason: 'FieldValueRequired', field, message: 'Required value' });
  }
  if (crd.metadata.name !== `${names.plural}.${group}`) {
    wrong('metadata.name', crd.metadata.name, 'must be spec.names.plural+"."+spec.group');
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    wrong(
      'spec.versions',
      versions.map(({ name }) => name),
      'must have exactly one version marked as storage version',
    );
  }
  versions.forEach((version, index) => {
    const path = `spec.versions[${index}]`;
    const schema = version.schema?.openAPIV3Schema;
    if (schema === undefined) {
      const message = 'Required value: schemas are required';
      causes.push({ reason: 'FieldValueRequired', field: `${path}.schema.openAPIV3Schema`, message });
      return;
    }
    causes.push(...checkStructural(schema, `${path}.schema.openAPIV3Schema`));
    try {
      compileRules(schema);
    } catch (error) {
      wrong(`${path}.schema.openAPIV3Schema`, 'object', (error as Error).message);
    }
    try {
      declaredColumns(version.additionalPrinterColumns);
    } catch (error) {
      wrong(`${path}.additionalPrinterColumns`, version.additionalPrinterColumns, (error as Error).message);
    }
  });
  return causes;
}

export const crdResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  kind: 'CustomResourceDefinition',
  listKind: 'CustomResourceDefinitionList',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  namespaced: false,
  verbs: allVerbs,
  hasStatus: true,
  keepsStatusOnCreate: false,
  collection: 'customresourcedefinitions.apiextensions.k8s.io',
  selectableFields: [],
  columns: plainColumns,
  strategicMerge: true,
  counted: true,
  unconditionalUpdate: false,
  prepare,
  check,
};

/** One resource per served version of a valid CRD. */
export function resourcesOf(crd: KubeObject): Resource[] {
  const { group, scope, names, versions } = definitionOf(crd);
  return versions
    .filter(({ served }) => served)
    .map((version): Resource => {
      const schema = version.schema?.openAPIV3Schema ?? { type: 'object' };
      const rules = compileRules(schema);
      const apiVersion = `${group}/${version.name}`;
      return {
        group,
        version: version.name,
        plural: names.plural,
        singular: names.singular ?? names.kind.toLowerCase(),
        kind: names.kind,
        listKind: names.listKind ?? `${names.kind}List`,
        shortNames: names.shortNames ?? [],
        categories: names.categories ?? [],
        namespaced: scope === 'Namespaced',
        verbs: allVerbs,
        hasStatus: version.subresources?.status !== undefined,
        keepsStatusOnCreate: false,
        collection: `${names.plural}.${group}`,
        selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, '')),
        columns: declaredColumns(version.additionalPrinterColumns),
        schema,
        ...(rules === undefined ? {} : { rules }),
        strategicMerge: false,
        counted: true,
        unconditionalUpdate: false,
        // Conversion strategy None: only the version's name differs.
        fromStored: (object) => (object.apiVersion === apiVersion ? object : { ...object, apiVersion }),
      };
    });
}

/** Keeps the registry in step with the CRDs of the store: a CRD is served from its creation to its removal. */
export function followDefinition(registry: Registry, crd: KubeObject, previous: KubeObject | undefined): void {
  if (previous !== undefined) for (const resource of resourcesOf(previous)) registry.remove(resource);
  for (const resource of resourcesOf(crd)) registry.add(resource);
}

export function forgetDefinition(registry: Registry, crd: KubeObject): void {
  for (const resource of resourcesOf(crd)) registry.remove(resource);
}
