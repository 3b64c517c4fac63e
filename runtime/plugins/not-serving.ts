import type { Fleet } from "./plugin-manager.ts";

/** Plugins whose process does not serve on this replica, and what it is at. */
export function notServing(fleet: Fleet): { id: string; state: "backoff" | "quarantined" }[] {
  return fleet.all().flatMap(({ manifest, process }) => {
    const state = process?.status().state;
    return state === "backoff" || state === "quarantined" ? [{ id: manifest.id, state }] : [];
  });
}
