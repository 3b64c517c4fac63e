export interface FailureOptions {
  readonly retryable: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly status?: number;
  readonly unavailable?: boolean;
  /** The timeout has passed. */
  readonly timedOut?: boolean;
  readonly cause?: unknown;
}

/** A failure, with what a retry decision needs. */
export class Failure extends Error {
  override readonly name = "Failure";
  /** A retry may succeed. */
  readonly retryable: boolean;
  /** Wait that the server asked for, milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** HTTP status of the server's answer, if there was one. */
  readonly status: number | undefined;
  /** The server cannot be reached, does not answer in time, or refuses every request (5xx, 429). */
  readonly unavailable: boolean;
  /** The request itself may be the cause, not the server: a 500, or no answer in time. */
  readonly isAmbiguous: boolean;
  constructor(message: string, options: FailureOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
    this.unavailable = options.retryable && (options.unavailable ?? false);
    this.isAmbiguous = options.status === 500 || (options.timedOut ?? false);
  }
}

/** Longest wait that a server may ask for within one call; longer ones are left to the execution's retries. */
const defaultMaxWaitMs = 60_000;

/** Maximum duration of `retry` for calls with this timeout, in milliseconds. */
export const maxRetryMs = (timeoutMs: number): number => 3 * timeoutMs + 2 * defaultMaxWaitMs;

/**
 * Calls up to three times while the failure is transient, with waits of 1 s and 2 s with jitter, or the wait that the server
 * asked for. Stops immediately when the signal is aborted.
 */
export async function retry<T>(
  call: (attempt: number) => Promise<T>,
  signal: AbortSignal,
  { baseMs = 1000, maxWaitMs = defaultMaxWaitMs }: { baseMs?: number; maxWaitMs?: number | undefined } = {},
): Promise<T> {
  for (let made = 1; ; made++) {
    try {
      return await call(made);
    } catch (error) {
      signal.throwIfAborted();
      const failure = error instanceof Failure ? error : null;
      const wait = failure?.retryAfterMs ?? baseMs * 2 ** (made - 1) * (0.75 + Math.random() / 2);
      if (!failure?.retryable || made >= 3 || wait > maxWaitMs) throw error;
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
