import { storableText } from "./json.ts";

interface FailureOptions {
  readonly retryable: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly status?: number;
  readonly unavailable?: boolean;
  /** The timeout has passed. */
  readonly timedOut?: boolean;
  /** The answer was cut off or cannot be read. */
  readonly unreadable?: boolean;
  readonly cause?: unknown;
}

/** A failure, with the data that a retry decision needs. Its message can be stored, even if a stranger wrote it or it is cut. */
export class Failure extends Error {
  override readonly name = "Failure";
  /** Whether a retry may succeed. */
  readonly retryable: boolean;
  /** The wait that the server requested, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** HTTP status of the server's answer, if there was one. */
  readonly status: number | undefined;
  /** The server cannot be reached, does not answer in full or in time, or refuses every request (5xx, 429, or 401 for the credential). */
  readonly unavailable: boolean;
  /** The cause may be the request itself instead of the server: a 500, a 401, a broken answer, or none in time. */
  readonly isAmbiguous: boolean;
  readonly timedOut: boolean;
  /** When the first try of the call failed; `performance.now()`. */
  firstFailedAt = performance.now();
  constructor(message: string, options: FailureOptions) {
    super(storableText(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
    const unreadable = options.unreadable ?? false;
    this.unavailable = (options.retryable && (options.unavailable ?? unreadable)) || this.isRefusal;
    this.timedOut = options.timedOut ?? false;
    this.isAmbiguous = options.status === 500 || this.isRefusal || this.timedOut || unreadable;
  }

  /** The server does not accept the credential. */
  get isRefusal(): boolean {
    return this.status === 401;
  }
}

/** Maximum wait that a server may request, in milliseconds. A longer one is a mistake. */
export const maxRetryAfterMs = 3_600_000;
/** Maximum wait that a server may request within one call. A longer wait is left to the retries of the execution. */
const defaultMaxWaitMs = 60_000;

const maxTries = 3;

/** Maximum duration of `retry` for calls with this timeout, in milliseconds. */
export const maxRetryMs = (timeoutMs: number): number => maxTries * timeoutMs + (maxTries - 1) * defaultMaxWaitMs;

/** Pause after this many tries, in milliseconds. It doubles with each try, up to `maxMs`. */
export const growingPauseMs = (tries: number, firstMs: number, maxMs = Number.POSITIVE_INFINITY): number =>
  Math.min(maxMs, firstMs * 2 ** (tries - 1));

/**
 * Tries a call up to three times while its failure is transient. Waits 1 s and 2 s with jitter, or for the time that the server
 * requested. Stops immediately when the signal is aborted.
 */
export async function retry<T>(
  call: (attempt: number) => Promise<T>,
  signal: AbortSignal,
  { maxWaitMs = defaultMaxWaitMs }: { maxWaitMs?: number | undefined } = {},
): Promise<T> {
  let firstFailedAt = Number.POSITIVE_INFINITY;
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(attempt);
    } catch (error) {
      signal.throwIfAborted();
      const failure = error instanceof Failure ? error : null;
      if (failure) failure.firstFailedAt = firstFailedAt = Math.min(firstFailedAt, failure.firstFailedAt);
      const wait = failure?.retryAfterMs ?? growingPauseMs(attempt, 1_000) * (0.75 + Math.random() / 2);
      if (!failure?.retryable || attempt >= maxTries || wait > maxWaitMs) throw error;
      await sleep(wait, signal);
    }
  }
}

/** Resolves after `ms` milliseconds. Rejects with the signal's reason if the signal is aborted first. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const stop = () => {
      clearTimeout(timer);
      fail(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      done();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
