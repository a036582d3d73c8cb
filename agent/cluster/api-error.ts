/** What the API server, or the way to it, has answered instead of the object asked for. */
export class ApiError extends Error {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Milliseconds the server asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, status: number, retryAfterMs?: number) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The resourceVersion asked for is no longer kept: start again from a list. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 410;
}

/** Somebody else has written the object since it was read. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}
