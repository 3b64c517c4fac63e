import { PluginError } from "./errors.ts";
import { sleep, type Throttle } from "./pace.ts";

export interface ThrottledRequest {
  readonly throttle: Throttle;
  /** How messages name the other side, for example `beta`. */
  readonly platform: string;
  /** Method and path. */
  readonly request: string;
  readonly signal: AbortSignal;
  /** Milliseconds until the next start, where this request weighs other than its pace says. */
  readonly interval?: number;
  /** Whether a request that failed so, other than by a rate limit, may be sent again. */
  readonly isRetryable: (error: PluginError) => boolean;
}

const tries = 3;
/** A wait that the platform asks for is kept up to here; the host takes longer ones. Milliseconds. */
const longestWait = 60_000;

/** Sends a request when its turn has come; once refused by a rate limit, all requests of the account wait as long as it says. */
export async function throttled<T>(turn: ThrottledRequest, send: () => Promise<T>): Promise<T> {
  const { throttle: pace, signal } = turn;
  if (!(await pace.acquire(signal))) throw notSent(turn);
  try {
    for (let count = 1; ; count++) {
      if (!(await pace.waitForStart(signal, turn.interval))) throw notSent(turn);
      try {
        return await send();
      } catch (error) {
        const failure = error as PluginError;
        const wait = waitFor(failure, count, turn.isRetryable);
        // The others would be refused as well. A longer wait is the host's, who may have more to go by than we.
        if (failure.code === "rate_limited" && wait !== null) await pace.block(wait);
        if (wait === null || count >= tries || !(await sleep(wait, signal))) throw failure;
      }
    }
  } finally {
    pace.release();
  }
}

function waitFor(failure: PluginError, count: number, again: (error: PluginError) => boolean): number | null {
  const told = failure.retry_after_ms;
  if (failure.code === "rate_limited") return told === undefined || told > longestWait ? null : told;
  if (!again(failure) || (told ?? 0) > longestWait) return null;
  return told ?? 250 * 2 ** (count - 1);
}

/** The deadline came while the request waited for its turn: it was not carried out, so it may be tried later. */
const notSent = ({ platform, request: asked, throttle: pace }: ThrottledRequest): PluginError =>
  new PluginError("rate_limited", `${platform}: ${asked} was not sent before the deadline, others were before it`, {
    retry_after_ms: pace.waitMs,
  });
