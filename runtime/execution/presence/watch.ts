import type { ClaimedExecution } from "../queries.ts";

/** How long a run takes before its issue shows that an agent works on it. */
export const quietMs = 3_000;

/** Shows on issues that agents work on them. */
export interface Presence {
  /** Watches a run, and shows its progress once it takes long. `end` stops watching. */
  watch(execution: ClaimedExecution): { end(): void };
  /** Call after an execution has ended, to update its sign. */
  wake(): void;
}

/** Nothing is written until the run takes long, so most runs cost only a timer. A retried run is shown at once. */
export function watchRun(
  execution: ClaimedExecution,
  begin: (execution: ClaimedExecution) => Promise<void>,
  onEnd: () => void,
): { end(): void } {
  let hasBegun = false;
  const timer = setTimeout(
    () => {
      hasBegun = true;
      void begin(execution);
    },
    execution.failures > 0 ? 0 : quietMs,
  );
  timer.unref();
  return {
    end: () => {
      clearTimeout(timer);
      // An earlier attempt may have been shown as working.
      if (hasBegun || execution.attempts > 1) onEnd();
    },
  };
}
