import type { SharedThrottle } from "@signalbox/sdk";

/** Records the times until which platforms asked plugins to wait. */
interface Holds {
  /** The same throttle, which also records its holds. Its keys begin with the id of a plugin. */
  recordHolds(throttle: SharedThrottle): SharedThrottle;
  /** The time until which requests are held, in milliseconds since 1970; `null` if none are. */
  heldUntil(plugin: string): number | null;
}

/** The id of the plugin with which a key begins. */
export const pluginOf = (key: string): string => key.split("/", 1)[0] as string;

export function createHolds(): Holds {
  const holds = new Map<string, number>();
  return {
    recordHolds: (throttle) => ({
      ...throttle,
      block: (key, ms) => {
        const plugin = pluginOf(key);
        holds.set(plugin, Math.max(holds.get(plugin) ?? 0, Date.now() + ms));
        return throttle.block(key, ms);
      },
    }),
    heldUntil: (plugin) => {
      const until = holds.get(plugin) ?? 0;
      return until > Date.now() ? until : null;
    },
  };
}
