import type { Log } from "../platform/log.ts";
import { sleep } from "../platform/retry.ts";

/** `more`: again at once. `over`: the loop ends. */
export type Found = "more" | "done" | "over";

/** Longest wait between retries of a failing loop, milliseconds. */
const longestMs = 15_000;

/** Named loops that run until they are over or all are stopped; each waits longer while it fails. */
export class Loops {
  readonly #log: Log;
  readonly #stopping = new AbortController();
  readonly #running = new Map<string, Promise<void>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** `failure`: what a failed run is called in the log. Resolves when the loop is over; `null` if one with this name runs. */
  start(name: string, failure: string, everyMs: number, run: () => Promise<Found>): Promise<void> | null {
    if (this.#stopping.signal.aborted || this.#running.has(name)) return null;
    const ended = this.#repeat(failure, everyMs, run).finally(() => this.#running.delete(name));
    this.#running.set(name, ended);
    return ended;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running.values());
  }

  async #repeat(failure: string, everyMs: number, run: () => Promise<Found>): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; ) {
      let found: Found = "done";
      try {
        found = await run();
        failures = 0;
      } catch (error) {
        failures += 1;
        this.#log.warn(failure, { error: String(error) });
      }
      if (found === "over") return;
      const wait = failures === 0 ? everyMs : Math.max(everyMs, Math.min(longestMs, everyMs * 2 ** (failures - 1)));
      if (found !== "more") await sleep(wait, signal).catch(() => {});
    }
  }
}

export interface LoopEach<Q> {
  readonly queues: ReadonlyMap<string, Q>;
  readonly failure: (name: string) => string;
  readonly everyMs: number;
  readonly run: (queue: Q, name: string) => Promise<Found>;
}

/** Runs a loop for each queue, until it is removed. The returned function starts those of queues that were added. */
export function loopEach<Q>(loops: Loops, { queues, failure, everyMs, run }: LoopEach<Q>): () => void {
  const start = () => {
    for (const name of queues.keys()) {
      const ended = loops.start(name, failure(name), everyMs, async () => {
        // Looked up each time, because an upgrade replaces it.
        const queue = queues.get(name);
        return queue === undefined ? "over" : run(queue, name);
      });
      // It may have returned while its loop was ending.
      void ended?.then(() => queues.has(name) && start());
    }
  };
  start();
  return start;
}
