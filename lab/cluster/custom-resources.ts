/** CustomResourceDefinitions: what they add to the registry, and the conditions they get. */
import { at, isObject, type KubernetesObject, text } from './objects.ts';
import type { PrinterColumn, Registry, Resource } from './resources.ts';
import type { Schema } from './schema.ts';

/** One resource per served version. */
export function resourcesOf(definition: KubernetesObject): Resource[] {
  const { spec } = definition;
  if (!isObject(spec) || !Array.isArray(spec.versions)) return [];
  const names = isObject(spec.names) ? spec.names : {};
  return spec.versions.filter(isObject).flatMap((each): Resource[] => {
    if (each.served !== true) return [];
    const schema = at(each, 'schema', 'openAPIV3Schema');
    return [
      {
        group: text(spec.group),
        version: text(each.name),
        plural: text(names.plural),
        singular: text(names.singular) || text(names.kind).toLowerCase(),
        kind: text(names.kind),
        namespaced: spec.scope === 'Namespaced',
        shortNames: Array.isArray(names.shortNames) ? names.shortNames.map(text) : [],
        statusSubresource: at(each, 'subresources', 'status') !== undefined,
        ...(isObject(schema) ? { schema: schema as Schema } : {}),
        ...(Array.isArray(each.additionalPrinterColumns)
          ? { columns: each.additionalPrinterColumns as unknown as PrinterColumn[] }
          : {}),
      },
    ];
  });
}

/** Serves the definition's kinds from now on and gives it the conditions that clients wait for. */
export function establish(registry: Registry, definition: KubernetesObject): void {
  for (const resource of resourcesOf(definition)) registry.add(resource);
  const now = new Date().toISOString().replace(/\.\d+Z/, 'Z');
  const condition = (type: string, reason: string): Record<string, string> => ({
    type,
    status: 'True',
    reason,
    message: '',
    lastTransitionTime: now,
  });
  definition.status = {
    acceptedNames: at(definition, 'spec', 'names') ?? {},
    storedVersions: resourcesOf(definition).map((each) => each.version),
    conditions: [condition('NamesAccepted', 'NoConflicts'), condition('Established', 'InitialNamesAccepted')],
  };
}

export function withdraw(registry: Registry, definition: KubernetesObject): void {
  for (const { group, plural } of resourcesOf(definition)) registry.remove(group, plural);
}
