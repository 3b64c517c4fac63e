/**
 * One queue of starts per account, shared by all replicas: the capability `pace`. Whoever is told to wait asks again
 * after that time, and of several who ask at the same time one gets the start.
 */
export interface SharedThrottle {
  /**
   * Takes the next start of `key`: `0`, and the one after it is `interval` milliseconds later. Else the milliseconds after
   * which to ask again. `key` names an account without showing its credential.
   */
  reserve(key: string, interval: number): Promise<number>;
  /** No start of `key` for `ms` milliseconds; a longer hold stands. */
  block(key: string, ms: number): Promise<void>;
}

/** Keys of a process at most; credentials are rotated. */
const most = 1_000;

/** The same within one process. */
export function inMemoryThrottle(): SharedThrottle {
  const next = new Map<string, number>();
  const set = (key: string, at: number) => {
    next.delete(key);
    if (next.size >= most) next.delete(next.keys().next().value as string);
    next.set(key, at);
  };
  return {
    reserve: async (key, interval) => {
      const now = Date.now();
      const wait = (next.get(key) ?? 0) - now;
      if (wait > 0) return wait;
      set(key, now + interval);
      return 0;
    },
    block: async (key, ms) => set(key, Math.max(next.get(key) ?? 0, Date.now() + ms)),
  };
}
