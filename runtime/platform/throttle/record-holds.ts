import type { SharedThrottle } from "@signalbox/sdk";

/** Records until when platforms have asked plugins to wait. */
export interface Holds {
  /** The same throttle, which remembers what it blocks. Its keys begin with the id of a plugin. */
  recorded(throttle: SharedThrottle): SharedThrottle;
  /** Milliseconds since 1970; `null` if nothing is held. */
  until(plugin: string): number | null;
}

export function createHolds(): Holds {
  const holds = new Map<string, number>();
  return {
    recorded: (throttle) => ({
      ...throttle,
      block: (key, ms) => {
        const plugin = key.slice(0, Math.max(0, key.indexOf("/"))) || key;
        holds.set(plugin, Math.max(holds.get(plugin) ?? 0, Date.now() + ms));
        return throttle.block(key, ms);
      },
    }),
    until: (plugin) => {
      const until = holds.get(plugin) ?? 0;
      return until > Date.now() ? until : null;
    },
  };
}
