/** Refusals in the API's own form: a Status object with the HTTP code, a reason that clients switch on, and the causes. */

export type StatusReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Invalid'
  | 'Expired'
  | 'Timeout'
  | 'TooManyRequests'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'UnsupportedMediaType'
  | 'RequestEntityTooLarge'
  | 'InternalError';

/** One field at fault. `reason` is a metav1.CauseType. */
export interface Cause {
  reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueTypeInvalid'
    | 'FieldValueForbidden'
    | 'ResourceVersionTooLarge';
  message: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: Cause[];
  retryAfterSeconds?: number;
}

export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, never>;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: StatusReason;
  details?: StatusDetails;
  code?: number;
}

/** What a resource is called in messages: `portmaps.kuport.wlz.li`. */
export interface ResourceName {
  group: string;
  plural: string;
  kind: string;
}

/** Thrown anywhere while a request is served; becomes the response. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: StatusReason;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: StatusReason, message: string, details?: StatusDetails) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

export function qualifiedName(resource: ResourceName): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

function details(resource: ResourceName, name: string): StatusDetails {
  return { name, ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural };
}

export function notFound(resource: ResourceName, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualifiedName(resource)} "${name}" not found`, details(resource, name));
}

export function noSuchPath(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function alreadyExists(resource: ResourceName, name: string): ApiError {
  const message = `${qualifiedName(resource)} "${name}" already exists`;
  return new ApiError(409, 'AlreadyExists', message, details(resource, name));
}

export function conflict(resource: ResourceName, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualifiedName(resource)} "${name}": ${why}`;
  return new ApiError(409, 'Conflict', message, details(resource, name));
}

export const modifiedMeanwhile =
  'the object has been modified; please apply your changes to the latest version and try again';

/** 422 naming every field at fault, joined the way the real server joins an aggregate. */
export function invalid(resource: ResourceName, name: string, causes: readonly Cause[]): ApiError {
  const kind = resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`;
  const lines = [...new Set(causes.map((cause) => `${cause.field ?? '<nil>'}: ${cause.message}`))];
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  return new ApiError(422, 'Invalid', `${kind} "${name}" is invalid: ${text}`, {
    name,
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.kind,
    causes: [...causes],
  });
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function methodNotAllowed(): ApiError {
  return new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}

/** `wanted` lists the content types the path takes. */
export function unsupportedMediaType(wanted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${wanted.join(', ')}`;
  return new ApiError(415, 'UnsupportedMediaType', message, {});
}

/** The version asked for is older than the history that is kept: the client must list again. */
export function expired(wanted: number, oldest: number): ApiError {
  return new ApiError(410, 'Expired', `too old resource version: ${wanted} (${oldest})`);
}

/** The version asked for lies in the future: the client saw another server. */
export function tooLargeVersion(wanted: number, current: number): ApiError {
  return new ApiError(504, 'Timeout', `Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}
