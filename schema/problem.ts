/**
 * The closed list of problems an operation may answer with, and how each reads on every transport.
 * HTTP status codes: `decisions` section 1; gRPC codes: https://grpc.io/docs/guides/status-codes/.
 */
export const problems = {
  bad_request: { status: 400, grpc: "INVALID_ARGUMENT", title: "The request is not valid" },
  unauthenticated: { status: 401, grpc: "UNAUTHENTICATED", title: "No valid credential was sent" },
  forbidden: {
    status: 403,
    grpc: "PERMISSION_DENIED",
    title: "The credential does not allow this, or a page of another site asks while there are none",
  },
  not_found: { status: 404, grpc: "NOT_FOUND", title: "No such resource" },
  method_not_allowed: { status: 405, grpc: "UNIMPLEMENTED", title: "The path does not take this method" },
  conflict: { status: 409, grpc: "ALREADY_EXISTS", title: "The state of the resource does not allow this" },
  too_large: { status: 413, grpc: "RESOURCE_EXHAUSTED", title: "The body is too large" },
  unsupported_media_type: { status: 415, grpc: "INVALID_ARGUMENT", title: "The body is not JSON" },
  rate_limited: { status: 429, grpc: "RESOURCE_EXHAUSTED", title: "Too many requests" },
  internal: { status: 500, grpc: "INTERNAL", title: "Something went wrong on our side" },
  bad_gateway: { status: 502, grpc: "UNAVAILABLE", title: "The LLM proxy, embedder or tracker failed" },
  unavailable: { status: 503, grpc: "FAILED_PRECONDITION", title: "A needed part is not configured or is down" },
} as const;

export type ProblemCode = keyof typeof problems;

export interface ProblemDetails {
  /** Path of the offending member, for example `messages[0].role`. */
  readonly field?: string;
  /** Seconds after which trying again makes sense; sent as `Retry-After`. */
  readonly retryAfter?: number;
  readonly cause?: unknown;
}

/** An error that is meant for the caller. Everything else that is thrown is answered as `internal`, without its text. */
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

/** `throw problem("not_found", "...")`: the message says what is wrong, where, and what would be right. */
export const problem = (code: ProblemCode, message: string, details?: ProblemDetails): Problem =>
  new Problem(code, message, details);
