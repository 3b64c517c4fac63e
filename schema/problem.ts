/**
 * The closed list of errors that an operation can return, with their status on each transport.
 * gRPC codes: https://grpc.io/docs/guides/status-codes/.
 */
export const problems = {
  bad_request: { status: 400, grpc: "INVALID_ARGUMENT", title: "The request is invalid" },
  unauthenticated: { status: 401, grpc: "UNAUTHENTICATED", title: "The credential is missing or invalid" },
  forbidden: {
    status: 403,
    grpc: "PERMISSION_DENIED",
    title: "The credential does not have the required scope, or no API keys exist and a page from another site sent the request",
  },
  not_found: { status: 404, grpc: "NOT_FOUND", title: "The resource does not exist" },
  method_not_allowed: { status: 405, grpc: "UNIMPLEMENTED", title: "The path does not support this method" },
  request_timeout: { status: 408, grpc: "DEADLINE_EXCEEDED", title: "The request did not arrive in time" },
  already_exists: { status: 409, grpc: "ALREADY_EXISTS", title: "The resource already exists" },
  wrong_state: { status: 409, grpc: "FAILED_PRECONDITION", title: "The state of the resource does not allow the request" },
  changed_meanwhile: { status: 409, grpc: "ABORTED", title: "The data that the request is based on has changed; read it again" },
  too_large: { status: 413, grpc: "RESOURCE_EXHAUSTED", title: "The request body is too large" },
  unsupported_media_type: { status: 415, grpc: "INVALID_ARGUMENT", title: "The request body is not JSON" },
  rate_limited: { status: 429, grpc: "RESOURCE_EXHAUSTED", title: "Too many requests" },
  internal: { status: 500, grpc: "INTERNAL", title: "Internal error" },
  bad_gateway: { status: 502, grpc: "UNAVAILABLE", title: "The LLM proxy, the embedding model or the tracker returned an error" },
  unavailable: { status: 503, grpc: "FAILED_PRECONDITION", title: "A required component is not configured or is unavailable" },
} as const;

export type ProblemCode = keyof typeof problems;

export interface ProblemDetails {
  /** Path of the invalid member, for example `messages[0].role`. */
  readonly field?: string;
  /** Seconds to wait before the request is retried; sent as `Retry-After`. */
  readonly retryAfter?: number;
  readonly cause?: unknown;
}

/** An error whose message is returned to the caller. Any other error is returned as `internal`, without its message. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  readonly field: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(code: ProblemCode, message: string, details: ProblemDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.field = details.field;
    this.retryAfter = details.retryAfter;
  }

  get status(): number {
    return problems[this.code].status;
  }
}

/** `throw problem("not_found", "...")`. The message says what is wrong, where, and what to do. */
export const problem = (code: ProblemCode, message: string, details?: ProblemDetails): Problem =>
  new Problem(code, message, details);

/** The problem `bad_request` about one member of the request: `throw fieldProblem("limit", "must be at most 1000")`. */
export const fieldProblem = (field: string, text: string): Problem => problem("bad_request", `${field}: ${text}`, { field });
