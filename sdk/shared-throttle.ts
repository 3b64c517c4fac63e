/**
 * Spaces the requests of an account across all replicas: the capability `throttle`. A caller that must wait calls `reserve`
 * again after that time; of several concurrent callers one succeeds.
 */
export interface SharedThrottle {
  /**
   * Reserves the next slot of `key`. Returns `0` on success; the following slot is `interval` milliseconds later. Otherwise
   * returns the milliseconds to wait before the next call. `key` identifies an account without showing its credential.
   */
  reserve(key: string, interval: number): Promise<number>;
  /** Blocks `key` for `ms` milliseconds. A longer block stays in effect. */
  block(key: string, ms: number): Promise<void>;
}

/** Maximum number of keys: old ones are dropped, because credentials are rotated. */
const maxKeys = 1_000;

/** A `SharedThrottle` within one process. */
export function inMemoryThrottle(): SharedThrottle {
  const next = new Map<string, number>();
  const set = (key: string, at: number) => {
    next.delete(key);
    if (next.size >= maxKeys) next.delete(next.keys().next().value as string);
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
