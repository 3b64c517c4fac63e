import type { PluginErrorCode, PluginErrorShape } from "@signalbox/sdk";
import { unavailableCause } from "./database/unavailable.ts";
import { messageOf } from "./error-text.ts";
import { Failure, retry } from "./retry.ts";

/**
 * Looks for the result of an earlier attempt, and acts if there is none; up to three times. `again`: whether there was an earlier
 * attempt before this call. If our own database fails (so that a fence or lease cannot be checked), that error is thrown unchanged,
 * because it says nothing about the remote service.
 */
export function reconcile<T>(
  find: ((attempt: number) => Promise<T | null>) | undefined,
  act: (attempt: number) => Promise<T>,
  signal: AbortSignal,
  again: boolean,
): Promise<T> {
  return retry(async (attempt) => {
    try {
      if (find && (again || attempt > 1)) {
        const existing = await find(attempt);
        if (existing !== null) return existing;
      }
      return await act(attempt);
    } catch (error) {
      signal.throwIfAborted();
      throw unavailableCause(error) ?? toFailure(error);
    }
  }, signal);
}

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
