import type { PluginErrorCode, PluginErrorShape } from "@signalbox/sdk";
import { unavailableCause } from "./database/unavailable.ts";
import { messageOf } from "./error-text.ts";
import { Failure, retry } from "./retry.ts";

/**
 * Makes a call of a remote service up to three times, while its failure is transient. If our own database fails (so that a fence or
 * lease cannot be checked), that error is thrown unchanged, because it says nothing about the remote service.
 */
export const retryRemote = <T>(call: (attempt: number) => Promise<T>, signal: AbortSignal): Promise<T> =>
  retry(async (attempt) => {
    try {
      return await call(attempt);
    } catch (error) {
      signal.throwIfAborted();
      throw unavailableCause(error) ?? toFailure(error);
    }
  }, signal);

/**
 * Writes something once, with up to three tries. Each try first looks for the result of an earlier one. `wasTried`: whether there was
 * one before this call.
 */
export const writeOnce = <T>(
  find: (attempt: number) => Promise<T | null>,
  write: (attempt: number) => Promise<T>,
  signal: AbortSignal,
  wasTried: boolean,
): Promise<T> =>
  retryRemote(async (attempt) => {
    const existing = wasTried || attempt > 1 ? await find(attempt) : null;
    return existing === null ? write(attempt) : existing;
  }, signal);

/** Codes of errors that do not depend on the arguments of the call. */
const outages: ReadonlySet<PluginErrorCode> = new Set(["rate_limited", "unavailable", "timeout"]);

/** A plugin's error is recognised by its members, because an installed plugin has its own copy of the error class. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const shape = error as Partial<PluginErrorShape> | null;
  const message = messageOf(error);
  const timedOut = error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
  return new Failure(message, {
    retryable: shape?.retryable === true || timedOut,
    unavailable: timedOut || (shape?.code !== undefined && outages.has(shape.code)),
    timedOut: timedOut || shape?.code === "timeout",
    ...(typeof shape?.status === "number" && { status: shape.status }),
    retryAfterMs: typeof shape?.retry_after_ms === "number" ? shape.retry_after_ms : undefined,
    cause: error,
  });
}
