import { retryOnDeadlock } from "./retry-on-deadlock.ts";

/**
 * Groups what arrives while a write is under way into the next one: one statement and one commit for many callers.
 * No timer is involved, so a single caller waits for nothing but its own write. A write that was undone by a deadlock is
 * made again, so it must be one statement or one transaction.
 */
export interface BatchOptions<T> {
  /** At most this many items in one write. */
  readonly maxItems: number;
  /** At most this much in one write, by `sizeOf`; one item alone may be larger. */
  readonly maxSize?: number;
  readonly sizeOf?: (item: T) => number;
  /** Writes under way at the same time. */
  readonly concurrency: number;
  /** Waiting items from which on a write begins beside others: fewer and larger writes cost less. 1 where absent. */
  readonly beside?: number;
}

export function batch<T, R>(write: (items: T[]) => Promise<R[]>, options: BatchOptions<T>): (item: T) => Promise<R> {
  interface Waiting {
    item: T;
    done: (result: R) => void;
    fail: (error: unknown) => void;
  }
  const { beside = 1 } = options;
  let waiting: Waiting[] = [];
  let underWay = 0;

  const take = (): Waiting[] => {
    let size = 0;
    let count = 0;
    for (const { item } of waiting) {
      size += options.sizeOf?.(item) ?? 0;
      if (count > 0 && (count >= options.maxItems || size > (options.maxSize ?? Number.POSITIVE_INFINITY))) break;
      count++;
    }
    const taken = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return taken;
  };

  const pump = () => {
    while (waiting.length > 0 && (underWay === 0 || (underWay < options.concurrency && waiting.length >= beside))) {
      const taken = take();
      underWay++;
      retryOnDeadlock(() => write(taken.map(({ item }) => item)))
        .then(
          (results) => taken.forEach(({ done }, i) => void done(results[i] as R)),
          (error) => {
            for (const { fail } of taken) fail(error);
          },
        )
        .finally(() => {
          underWay--;
          pump();
        });
    }
  };

  return (item) =>
    new Promise((done, fail) => {
      waiting.push({ item, done, fail });
      // The microtask lets everything that arrived in this turn of the event loop into the same write.
      queueMicrotask(pump);
    });
}
