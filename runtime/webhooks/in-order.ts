import type { InOrder } from "./received-webhook.ts";

/**
 * Runs all items concurrently, but stores their events in the order of the items. A store begins once those before it have begun,
 * without waiting for their end, so that they are stored together. If a run rejects, the runs after it do not store their events: their
 * `inOrder` rejects with its error. A run that ends without a store does not let the next one overtake those before it.
 */
export function runInOrder<T, R>(items: readonly T[], run: (item: T, inOrder: InOrder) => Promise<R>): Promise<R>[] {
  let last: Promise<void> = Promise.resolve();
  return items.map(async (item) => {
    const previous = last;
    const begun = Promise.withResolvers<void>();
    begun.promise.catch(() => {});
    last = begun.promise;
    try {
      return await run(item, async (store) => {
        await previous;
        const stored = store();
        begun.resolve();
        return stored;
      });
    } catch (error) {
      begun.reject(error);
      throw error;
    } finally {
      begun.resolve(previous);
    }
  });
}
