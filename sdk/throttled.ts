import { PluginError } from "./errors.ts";
import { sleep, type Throttle } from "./throttle.ts";

/** A request to send with `throttled`. */
export interface ThrottledRequest {
  readonly throttle: Throttle;
  /** Name of the platform in error messages, for example `beta`. */
  readonly platform: string;
  /** Method and path, for error messages. */
  readonly request: string;
  readonly signal: AbortSignal;
  /** Milliseconds until the next start. Default: the interval of the throttle. */
  readonly interval?: number;
  /** Whether the request may be repeated after this error, other than a rate limit error. */
  readonly isRetryable: (error: PluginError) => boolean;
}

const tries = 3;
/** Maximum wait that a platform may ask for, in milliseconds. For a longer one the error is thrown, and the host retries later. */
const maxWaitMs = 60_000;

/**
 * Sends a request when the throttle allows it, at most three times. After a rate limit error all requests of the account wait
 * as long as the platform asks. Throws the last `PluginError`, or `rate_limited` if the signal is aborted before the request is
 * sent.
 */
export async function throttled<T>(request: ThrottledRequest, send: () => Promise<T>): Promise<T> {
  const { throttle, signal } = request;
  if (!(await throttle.acquire(signal))) throw notSent(request);
  try {
    for (let count = 1; ; count++) {
      if (!(await throttle.waitForStart(signal, request.interval))) throw notSent(request);
      try {
        return await send();
      } catch (error) {
        const failure = error as PluginError;
        const wait = waitFor(failure, count, request.isRetryable);
        // The other requests would be rate limited as well.
        if (failure.code === "rate_limited" && wait !== null) await throttle.block(wait);
        if (wait === null || count >= tries || !(await sleep(wait, signal))) throw failure;
      }
    }
  } finally {
    throttle.release();
  }
}

function waitFor(failure: PluginError, count: number, isRetryable: (error: PluginError) => boolean): number | null {
  const requested = failure.retry_after_ms;
  if (failure.code === "rate_limited") return requested === undefined || requested > maxWaitMs ? null : requested;
  if (!isRetryable(failure) || (requested ?? 0) > maxWaitMs) return null;
  return requested ?? 250 * 2 ** (count - 1);
}

/** The deadline passed before the request was sent, so it can be repeated later. */
const notSent = ({ platform, request, throttle }: ThrottledRequest): PluginError =>
  new PluginError(
    "rate_limited",
    `${platform}: ${request} was not sent before its deadline because earlier requests used up the rate limit`,
    {
      retry_after_ms: throttle.waitMs,
    },
  );
