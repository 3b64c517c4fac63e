import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../platform/log.ts";

/**
 * Opened resources, to be closed in reverse order. `AsyncDisposableStack` is not used, because Node 22 does not have it, and a
 * hanging step would keep the other resources open.
 */
export interface Shutdown {
  /** `limitMs`: a step that takes longer is abandoned. */
  add(close: () => unknown, limitMs?: number): void;
  /** Closes everything. An error does not prevent the rest from closing, and is thrown at the end. */
  close(): Promise<void>;
}

const defaultLimitMs = 5_000;

export function createShutdown(log: Log): Shutdown {
  const steps: { close: () => unknown; limitMs: number }[] = [];
  return {
    add: (close, limitMs = defaultLimitMs) => void steps.push({ close, limitMs }),
    close: async () => {
      const failures: unknown[] = [];
      for (let step = steps.pop(); step; step = steps.pop()) {
        try {
          const ended = new AbortController();
          const late = sleep(step.limitMs, "late", { signal: ended.signal }).catch(() => {});
          const outcome = await Promise.race([step.close(), late]).finally(() => ended.abort());
          if (outcome === "late")
            log.warn("a shutdown step took too long; continuing with the next", { step: String(step.close) });
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
