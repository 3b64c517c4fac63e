import { type Problem, problem } from "@signalbox/schema/problem";
import type { NewMemory, StoredMemory } from "@signalbox/sdk";
import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Embedder } from "./embedder.ts";
import { lookAhead, type Outcome, type References, storeWithKeys } from "./queries.ts";
import { asStoreProblem, type Store } from "./stores.ts";

/**
 * Stores a memory with its key in one statement, where the store is in the host's own database. Answers whether it waits for
 * its vector, and `null` where it is not for this way: the store is elsewhere, or somebody has the key. Throws a `bad_request`
 * where what it refers to is not there.
 */
export type StoreTogether = (
  store: Store,
  memory: StoredMemory,
  ttl_ms: number | null,
  embed: () => Promise<number[] | null>,
) => Promise<boolean | null>;

/** The store that keeps memories beside their keys. */
export const inDatabase = "pgvector";

interface Waiting {
  readonly store: Store;
  readonly memory: NewMemory;
}

/** Memories in one statement, and characters of their texts. */
const most = { maxItems: 16, maxSize: 1_000_000, sizeOf: ({ memory }: Waiting) => memory.content.length };

export function storeTogether({ sql, embedder }: { sql: Sql; embedder: Embedder }): StoreTogether {
  const write = batch((all: Waiting[]) => writeAll(sql, all), { ...most, concurrency: 8 });
  return async (store, memory, ttl_ms, embed) => {
    if (store.name !== inDatabase || !store.backend.insertReserved) return null;
    if (!embedder.local) {
      // What will be refused is refused before anybody pays for a vector.
      const there = await lookAhead(sql, memory.key, memory);
      requireThere(there, memory);
      if (there.held) return null;
    }
    const embedding = await embed();
    const outcome = await write({ store, memory: { ...memory, ttl_ms, embedding } }).catch((error) => {
      throw asStoreProblem(error, store.name);
    });
    if (!outcome) return null;
    requireThere(outcome, memory);
    if (!outcome.held) return null;
    // The memory that a lost answer left behind has the key after all.
    if (!outcome.stored) throw taken(memory.key);
    return embedding === null;
  };
}

/** In the order given; `null` for one whose key another of them has. */
async function writeAll(sql: Sql, all: readonly Waiting[]): Promise<(Outcome | null)[]> {
  const byKey = new Map<string, Waiting>();
  for (const one of all) if (!byKey.has(one.memory.key)) byKey.set(one.memory.key, one);
  const first = [...byKey.values()];
  const outcomes = new Map<string, Outcome>();
  // There is one such store in most houses.
  for (const [store, some] of Map.groupBy(first, ({ store }) => store)) {
    const memories = some.map(({ memory }) => memory);
    const rows = memories.map((memory) => ({ ...memory, store: store.name }));
    const put = store.backend.insertReserved?.bind(store.backend);
    if (!put) continue;
    for (const outcome of await storeWithKeys(sql, rows, (before) => put(memories, before))) outcomes.set(outcome.id, outcome);
  }
  return all.map(({ memory }) => outcomes.get(memory.id) ?? null);
}

/** Throws a `bad_request` where what a memory refers to is not there. */
export function requireThere(there: Pick<Outcome, "agent" | "project">, { agent_id, project_id }: References): void {
  if (!there.agent) throw problem("bad_request", `agent_id: there is no agent "${agent_id}"`, { field: "agent_id" });
  if (!there.project) throw problem("bad_request", `project_id: there is no project ${project_id}`, { field: "project_id" });
}

export const taken = (key: string): Problem =>
  problem("conflict", `key: a memory with the key ${quoted(key)} exists already`, { field: "key" });

/** A key as an error says it. */
export const quoted = (key: string): string => JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}…` : key);
