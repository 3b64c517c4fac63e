import { problem } from "@signalbox/schema/problem";
import type { MemoryScope, MemoryStore, PluginErrorShape } from "@signalbox/sdk";

/** A memory store with the name that its keys are stored under. */
export interface NamedStore {
  readonly name: string;
  readonly backend: MemoryStore;
}

/** Memory stores: scope `task` in the short-term store, all others in the long-term one. */
export interface MemoryStores {
  readonly longTerm: NamedStore;
  /** The long-term store itself if short-term memories are kept in the database. */
  readonly shortTerm: NamedStore;
  /** All stores, without duplicates. */
  readonly all: readonly NamedStore[];
  readonly byName: (name: string) => NamedStore | undefined;
}

export function storesOf(longTerm: NamedStore, shortTerm: NamedStore): MemoryStores {
  const all = longTerm.name === shortTerm.name ? [longTerm] : [longTerm, shortTerm];
  return { longTerm, shortTerm, all, byName: (name) => all.find((store) => store.name === name) };
}

export const storeFor = (stores: MemoryStores, scope: MemoryScope): NamedStore =>
  scope === "task" ? stores.shortTerm : stores.longTerm;

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
