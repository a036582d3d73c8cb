/** What the API answers when it refuses: a Status object and its HTTP code. */

export type StatusReason =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Invalid'
  | 'BadRequest'
  | 'Unauthorized'
  | 'MethodNotAllowed'
  | 'UnsupportedMediaType'
  | 'Expired'
  | 'InternalError';

const codes: Record<StatusReason, number> = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Invalid: 422,
  BadRequest: 400,
  Unauthorized: 401,
  MethodNotAllowed: 405,
  UnsupportedMediaType: 415,
  Expired: 410,
  InternalError: 500,
};

export interface StatusCause {
  reason: string;
  message: string;
  field: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  causes?: StatusCause[];
}

export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly reason: StatusReason;
  readonly code: number;
  readonly details: StatusDetails;

  constructor(reason: StatusReason, message: string, details: StatusDetails = {}) {
    super(message);
    this.reason = reason;
    this.code = codes[reason];
    this.details = details;
  }

  toObject(): Record<string, unknown> {
    const { message, reason, code, details } = this;
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code };
  }
}
