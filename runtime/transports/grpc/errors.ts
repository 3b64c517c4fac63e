import { Code, ConnectError } from "@connectrpc/connect";
import { Problem, type ProblemCode, problems } from "@signalbox/schema/problem";
import { cannotStore, unavailableAnswer } from "../../platform/database/unavailable.ts";
import { causeOf } from "../../platform/error-text.ts";
import type { Log } from "../../platform/log.ts";
import { BadRequest } from "./well-known.ts";

const codes: Record<(typeof problems)[ProblemCode]["grpc"], Code> = {
  INVALID_ARGUMENT: Code.InvalidArgument,
  UNAUTHENTICATED: Code.Unauthenticated,
  PERMISSION_DENIED: Code.PermissionDenied,
  NOT_FOUND: Code.NotFound,
  UNIMPLEMENTED: Code.Unimplemented,
  ALREADY_EXISTS: Code.AlreadyExists,
  ABORTED: Code.Aborted,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
  INTERNAL: Code.Internal,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  UNAVAILABLE: Code.Unavailable,
  FAILED_PRECONDITION: Code.FailedPrecondition,
};

/**
 * The status of an error for the caller. A `Problem` keeps its text, names the field in a google.rpc.BadRequest detail, and has
 * the time until a retry in `retry-after`. A call that was cancelled or exceeded its deadline has the status for that. If the
 * database, or a component that will be back soon, is unavailable, the status is UNAVAILABLE: the call may be repeated. The texts
 * of all other errors are hidden.
 */
export function toConnectError(
  error: unknown,
  call: { readonly signal: AbortSignal; readonly log: Log; readonly operation: string },
): ConnectError {
  if (error instanceof Problem) return fromProblem(error);
  if (call.signal.aborted) return fromAbort(call.signal.reason);
  const unavailable = unavailableAnswer(error);
  if (cannotStore(error)) call.log.error("the database cannot store data", { operation: call.operation, error: causeOf(error) });
  if (unavailable)
    return new ConnectError(unavailable.message, Code.Unavailable, { "retry-after": String(unavailable.retryAfter) });
  call.log.error("a gRPC call failed", { operation: call.operation, error });
  return new ConnectError("Something went wrong on our side", Code.Internal);
}

export function fromProblem({ code, message, field, retryAfter }: Problem): ConnectError {
  const metadata: Record<string, string> =
    retryAfter === undefined ? {} : { "retry-after": String(Math.max(0, Math.ceil(retryAfter))) };
  const value = { fieldViolations: [{ field, description: message }] };
  return new ConnectError(
    message,
    // Clients do not repeat a call after FAILED_PRECONDITION, but this component will be back soon.
    code === "unavailable" && retryAfter !== undefined ? Code.Unavailable : codes[problems[code].grpc],
    metadata,
    field === undefined ? [] : [{ desc: BadRequest, value }],
  );
}

/**
 * Connect aborts with a ConnectError when the deadline passes, the server with a ConnectError or a Problem when it stops. A stream that
 * was reset is a cancelled call.
 */
export function fromAbort(reason: unknown): ConnectError {
  if (reason instanceof Problem) return fromProblem(reason);
  return reason instanceof ConnectError ? reason : new ConnectError("The call was cancelled", Code.Canceled);
}
