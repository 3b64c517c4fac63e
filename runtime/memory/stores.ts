import { problem } from "@signalbox/schema/problem";
import type { MemoryScope, MemoryStore, PluginErrorShape } from "@signalbox/sdk";

/** A memory store with the name that its keys are stored under. */
export interface NamedStore {
  readonly name: string;
  readonly backend: MemoryStore;
}

/** Memory stores: scope `task` in the short-term store, all others in the long-term one. */
export interface MemoryStores {
  readonly long: NamedStore;
  /** The long-term store itself if short-term memories are kept in the database. */
  readonly short: NamedStore;
  /** All stores, without duplicates. */
  readonly all: readonly NamedStore[];
  readonly named: (name: string) => NamedStore | undefined;
}

export function storesOf(long: NamedStore, short: NamedStore): MemoryStores {
  const all = long.name === short.name ? [long] : [long, short];
  return { long, short, all, named: (name) => all.find((store) => store.name === name) };
}

export const storeFor = (stores: MemoryStores, scope: MemoryScope): NamedStore => (scope === "task" ? stores.short : stores.long);

/** An unavailable store is reported to the caller; any other error is internal. */
export function asStoreProblem(error: unknown, store: string): unknown {
  const code = (error as Partial<PluginErrorShape> | null)?.code;
  if (code !== "unavailable" && code !== "timeout") return error;
  return problem("unavailable", `The memory store ${store} is unavailable. Try again in a moment.`, {
    retryAfter: 2,
    cause: error,
  });
}

export async function withStore<T>(store: NamedStore, run: (backend: MemoryStore) => Promise<T>): Promise<T> {
  try {
    return await run(store.backend);
  } catch (error) {
    throw asStoreProblem(error, store.name);
  }
}
