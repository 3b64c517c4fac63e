import { problem } from "@signalbox/schema/problem";
import type { MemoryScope, MemoryStore, PluginErrorShape } from "@signalbox/sdk";

/** A backend, by the name stored with the keys. */
export interface Store {
  readonly name: string;
  readonly backend: MemoryStore;
}

/** Memory stores: scope `task` in the short-term store, all others in the long-term one. */
export interface Stores {
  readonly long: Store;
  /** The long-term store itself if short-term memories are kept in the database. */
  readonly short: Store;
  /** All stores, without duplicates. */
  readonly all: readonly Store[];
  readonly named: (name: string) => Store | undefined;
}

export function storesOf(long: Store, short: Store): Stores {
  const all = long.name === short.name ? [long] : [long, short];
  return { long, short, all, named: (name) => all.find((store) => store.name === name) };
}

export const storeFor = (stores: Stores, scope: MemoryScope): Store => (scope === "task" ? stores.short : stores.long);

/** An unavailable store is reported to the caller; any other error is internal. */
export function asStoreProblem(error: unknown, store: string): unknown {
  const code = (error as Partial<PluginErrorShape> | null)?.code;
  if (code !== "unavailable" && code !== "timeout") return error;
  return problem("unavailable", `The memory store ${store} is unavailable. Try again in a moment.`, {
    retryAfter: 2,
    cause: error,
  });
}

export async function using<T>(store: Store, run: (backend: MemoryStore) => Promise<T>): Promise<T> {
  try {
    return await run(store.backend);
  } catch (error) {
    throw asStoreProblem(error, store.name);
  }
}
