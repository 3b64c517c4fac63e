import { problem } from "@signalbox/schema/problem";
import type { MemoryScope, MemoryStore, PluginErrorShape } from "@signalbox/sdk";

/** A backend by the name that keys are noted under. */
export interface Store {
  readonly name: string;
  readonly backend: MemoryStore;
}

/** Where memories are: those of the scope `task` in the short-term store, the others in the long-term one. */
export interface Stores {
  readonly long: Store;
  /** The same store where short-term memories are kept in the database. */
  readonly short: Store;
  /** Each store once. */
  readonly all: readonly Store[];
  readonly named: (name: string) => Store | undefined;
}

export function storesOf(long: Store, short: Store): Stores {
  const all = long.name === short.name ? [long] : [long, short];
  return { long, short, all, named: (name) => all.find((store) => store.name === name) };
}

export const storeFor = (stores: Stores, scope: MemoryScope): Store => (scope === "task" ? stores.short : stores.long);

/** A store that cannot be reached is the caller's to know; anything else that it throws is ours. */
export function asStoreProblem(error: unknown, store: string): unknown {
  const code = (error as Partial<PluginErrorShape> | null)?.code;
  if (code !== "unavailable" && code !== "timeout") return error;
  return problem("unavailable", `The memory store ${store} does not answer. Try again in a moment.`, {
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
