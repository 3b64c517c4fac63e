import { retryOnDeadlock } from "./retry-on-deadlock.ts";
import { isUnavailable } from "./unavailable.ts";

interface BatchOptions<T> {
  /** Maximum number of items in one write. */
  readonly maxItems: number;
  /** Maximum total of `sizeOf` in one write; a single item may be larger. */
  readonly maxSize?: number;
  readonly sizeOf?: (item: T) => number;
  /** Maximum number of writes at the same time. */
  readonly concurrency: number;
  /** Number of waiting items at which another write starts in parallel: fewer and larger writes cost less. Default: 1. */
  readonly beside?: number;
}

/** A write that takes longer than this, in milliseconds, no longer delays other writes. */
const slowMs = 500;
/** Maximum time for which other writes are delayed after one of them got no answer, in milliseconds. */
const maxWaitMs = 2_000;

/**
 * Collects the items that arrive during a write into the next one: one statement and one commit for many callers. A single caller
 * waits only for its own write. A write that a deadlock rolled back is repeated, so it must be one statement or one transaction.
 */
export function batch<T, R>(writeAll: (items: T[]) => Promise<R[]>, options: BatchOptions<T>): (item: T) => Promise<R> {
  interface Waiting {
    item: T;
    done: (result: R) => void;
    fail: (error: unknown) => void;
    readonly since: number;
  }
  const { beside = 1 } = options;
  let waiting: Waiting[] = [];
  /** When each running write began. */
  const underWay = new Set<{ readonly startedAt: number }>();
  let timer: NodeJS.Timeout | null = null;

  const take = (): Waiting[] => {
    let size = 0;
    let count = 0;
    for (const { item } of waiting) {
      size += options.sizeOf?.(item) ?? 0;
      if (count > 0 && (count >= options.maxItems || size > (options.maxSize ?? Number.POSITIVE_INFINITY))) break;
      count++;
    }
    const portion = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return portion;
  };

  /** Items that waited for a write without an answer do not wait for another one. */
  const rejectWaiting = (error: unknown) => {
    const before = performance.now() - maxWaitMs;
    for (const { since, fail } of waiting) if (since < before) fail(error);
    waiting = waiting.filter(({ since }) => since >= before);
  };
  /** Whether another write may begin. Slow writes do not count. */
  const mayBegin = () => {
    if (underWay.size === 0) return true;
    if (underWay.size >= options.concurrency) return false;
    const before = performance.now() - slowMs;
    return waiting.length >= beside || [...underWay].every(({ startedAt }) => startedAt <= before);
  };

  const pump = () => {
    while (waiting.length > 0 && mayBegin()) {
      const portion = take();
      const write = { startedAt: performance.now() };
      underWay.add(write);
      retryOnDeadlock(() => writeAll(portion.map(({ item }) => item)))
        .then(
          (results) => portion.forEach(({ done }, i) => void done(results[i] as R)),
          (error) => {
            for (const { fail } of portion) fail(error);
            if (isUnavailable(error)) rejectWaiting(error);
          },
        )
        .finally(() => {
          underWay.delete(write);
          pump();
        });
    }
    if (waiting.length > 0 && timer === null) timer = setTimeout(pumpAgain, slowMs + 1);
  };
  const pumpAgain = () => {
    timer = null;
    pump();
  };

  return (item) =>
    new Promise((done, fail) => {
      waiting.push({ item, done, fail, since: performance.now() });
      // The microtask adds everything that arrives in this turn of the event loop to the same write.
      queueMicrotask(pump);
    });
}
