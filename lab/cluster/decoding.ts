/** From a request's body to an object of the resource: type and metadata checked, unknown fields handled, defaults filled in. */
import { isObject, type KubeObject } from './object.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import { applyDefaults, prune } from './schema.ts';
import { badRequest, type Cause } from './status.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** What a write request carries beside its body. */
export interface WriteOptions {
  dryRun: boolean;
  fieldValidation: FieldValidation;
  /** Texts for Warning headers, added to by the write. */
  warnings: string[];
}

/** Thrown inside decoding for fieldValidation=Strict; create, update and patch each word it their own way. */
export class UnknownFields extends Error {
  readonly fields: readonly string[];

  constructor(fields: readonly string[]) {
    super(`strict decoding error: ${fields.map((field) => `unknown field ${JSON.stringify(field)}`).join(', ')}`);
    this.fields = fields;
  }
}

function checkStringMap(value: unknown, field: string, kind: string): void {
  if (value === undefined) return;
  const wrong = !isObject(value) || Object.values(value).some((item) => typeof item !== 'string');
  if (wrong) {
    const message = `${kind} in version is not valid: metadata.${field} must be a map of strings, was ${JSON.stringify(value)}`;
    throw badRequest(message);
  }
}

/**
 * The object a body stands for; the body itself is edited. Throws 400 for a body that is no object of this resource,
 * UnknownFields where unknown fields are refused.
 */
export function decode(resource: Resource, body: unknown, options: WriteOptions): KubeObject {
  if (!isObject(body)) throw badRequest(`${resource.kind}: the body must be one JSON object`);
  const expected = apiVersionOf(resource);
  if (resource.schema === undefined) {
    // Kinds compiled into the server know what they are even where the body does not say it.
    body.apiVersion ??= expected;
    body.kind ??= resource.kind;
  }
  if (typeof body.kind !== 'string' || body.kind === '') {
    throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(body)}'`);
  }
  if (body.apiVersion !== expected) {
    const message = `the API version in the data (${String(body.apiVersion)}) does not match the expected API version (${expected})`;
    throw badRequest(message);
  }
  if (body.kind !== resource.kind) {
    throw badRequest(`${body.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}`);
  }
  const { metadata } = body;
  if (metadata !== undefined && !isObject(metadata)) throw badRequest(`${resource.kind}: metadata must be an object`);
  const cleaned: Record<string, unknown> = { ...metadata };
  for (const [field, value] of Object.entries(cleaned)) if (value === null) delete cleaned[field];
  delete cleaned.managedFields;
  delete cleaned.selfLink;
  checkStringMap(cleaned.labels, 'labels', resource.kind);
  checkStringMap(cleaned.annotations, 'annotations', resource.kind);
  body.metadata = cleaned;
  if (resource.schema !== undefined) {
    const unknown = prune(body, resource.schema);
    if (unknown.length > 0 && options.fieldValidation === 'Strict') throw new UnknownFields(unknown);
    if (options.fieldValidation === 'Warn') {
      options.warnings.push(...unknown.map((field) => `unknown field ${JSON.stringify(field)}`));
    }
    applyDefaults(body, resource.schema);
  }
  const { apiVersion, kind, metadata: meta, ...fields } = body;
  return { apiVersion, kind, metadata: meta, ...fields } as KubeObject;
}

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** Kinds whose names are DNS labels rather than subdomains. */
const labelNamed = ['namespaces', 'services'];

/** What is wrong with an object's name, if anything. */
export function checkName(resource: Resource, name: string): Cause[] {
  if (name === '') {
    const message = 'Required value: name or generateName is required';
    return [{ reason: 'FieldValueRequired', field: 'metadata.name', message }];
  }
  const isLabel = resource.group === '' && labelNamed.includes(resource.plural);
  const longest = isLabel ? 63 : 253;
  const causes: Cause[] = [];
  const refuse = (why: string): void => {
    const message = `Invalid value: ${JSON.stringify(name)}: ${why}`;
    causes.push({ reason: 'FieldValueInvalid', field: 'metadata.name', message });
  };
  if (name.length > longest) refuse(`must be no more than ${longest} characters`);
  if (isLabel && !label.test(name)) {
    refuse(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    );
  } else if (!isLabel && !subdomain.test(name)) {
    refuse(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
  }
  return causes;
}
