import type { PluginManager } from "./plugin-manager.ts";

/** Plugins whose process does not serve on this replica, and what it is at. */
export function notServing(manager: PluginManager): { id: string; state: "backoff" | "quarantined" }[] {
  return manager.all().flatMap(({ manifest, process }) => {
    const state = process?.status().state;
    return state === "backoff" || state === "quarantined" ? [{ id: manifest.id, state }] : [];
  });
}
