import { causeOf } from "../platform/error-text.ts";
import type { Log } from "../platform/log.ts";
import { type Loop, startLoop } from "../platform/loop.ts";

/** `more`: run again immediately. `over`: the loop ends. */
export type RunResult = "more" | "done" | "over";

/** Maximum wait between retries of a failing loop, in milliseconds. */
const maxBackoffMs = 15_000;

/** Named loops that run until they are over or all are stopped. A failing loop waits longer after each failure. */
export class Loops {
  readonly #log: Log;
  readonly #running = new Map<string, Loop>();
  /** The last error of each loop that fails now, by its name. */
  readonly #failing = new Map<string, unknown>();
  #isStopping = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * `failure`: the log message for a failed run. Resolves when the loop is over. Returns `null` if a loop with this name is
   * running.
   */
  start(name: string, failure: string, everyMs: number, run: () => Promise<RunResult>): Promise<void> | null {
    if (this.#isStopping || this.#running.has(name)) return null;
    const loopEnd = Promise.withResolvers<void>();
    let failures = 0;
    const loop = startLoop({
      everyMs,
      firstMs: 0,
      run: async () => {
        const result = await run();
        failures = 0;
        this.#failing.delete(name);
        if (result === "over") loopEnd.resolve(loop.stop());
        return result === "more" ? { pauseMs: 0 } : undefined;
      },
      onError: (error) => {
        this.#log.warn(failure, { error: causeOf(error) });
        this.#failing.set(name, error);
        return { pauseMs: Math.max(everyMs, Math.min(maxBackoffMs, everyMs * 2 ** failures++)) };
      },
    });
    this.#running.set(name, loop);
    return loopEnd.promise.finally(() => this.#running.delete(name));
  }

  /** Why the loop with this name fails now, in the words of `describe`; `null` if it does not. */
  failureOf(name: string, describe: (error: unknown) => string): string | null {
    return this.#failing.has(name) ? describe(this.#failing.get(name)) : null;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#running.values()].map((loop) => loop.stop()));
  }
}

interface LoopEach<Q> {
  readonly queues: ReadonlyMap<string, Q>;
  readonly failure: (name: string) => string;
  readonly everyMs: number;
  readonly run: (queue: Q, name: string) => Promise<RunResult>;
}

/** Runs a loop for each queue until it is removed. The returned function starts loops for added queues. */
export function loopEach<Q>(loops: Loops, { queues, failure, everyMs, run }: LoopEach<Q>): () => void {
  const start = () => {
    for (const name of queues.keys()) {
      const loopEnd = loops.start(name, failure(name), everyMs, async () => {
        // Looked up each time, because an upgrade replaces it.
        const queue = queues.get(name);
        return queue === undefined ? "over" : run(queue, name);
      });
      // The queue may have been added again while its loop was ending.
      void loopEnd?.then(() => queues.has(name) && start());
    }
  };
  start();
  return start;
}
