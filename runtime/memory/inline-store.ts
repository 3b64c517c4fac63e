import { fieldProblem, type Problem, problem } from "@signalbox/schema/problem";
import type { NewMemory, StoredMemory } from "@signalbox/sdk";
import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import type { AuditEntry } from "../platform/operation.ts";
import type { Embedder } from "./embedder.ts";
import { checkBeforeStoring, type Outcome, type References, storeWithKeys } from "./queries.ts";
import { asStoreProblem, type NamedStore } from "./stores.ts";

/**
 * Stores a memory with its key in one statement, if the store is in the host's own database. Returns whether the memory waits for
 * its vector, or `null` if this path does not apply: the store is elsewhere, or the key is taken. Throws `bad_request`
 * if an agent or project that it refers to does not exist.
 */
export type InlineStore = (store: NamedStore, creation: Creation) => Promise<boolean | null>;

interface Creation {
  readonly memory: StoredMemory;
  readonly ttl_ms: number | null;
  readonly embed: () => Promise<number[] | null>;
  /** The entry of the audit log, which is stored in the same statement. */
  readonly entry: AuditEntry | undefined;
}

/** A store whose memories are in the same database as their keys. */
export const inDatabase = "pgvector";

interface PendingMemory {
  readonly store: NamedStore;
  readonly memory: NewMemory;
  /** JSON of its entry in the audit log; `null`: none. */
  readonly entry: string | null;
}

/** Limits of one statement: memories, and characters of their texts. */
const batchLimits = { maxItems: 16, maxSize: 1_000_000, sizeOf: ({ memory }: PendingMemory) => memory.content.length };

export function createInlineStore({ sql, embedder }: { sql: Sql; embedder: Embedder }): InlineStore {
  const write = batch((all: PendingMemory[]) => writeAll(sql, all), { ...batchLimits, concurrency: 4 });
  return async (store, { memory, ttl_ms, embed, entry }) => {
    if (store.name !== inDatabase || !store.backend.insertReserved) return null;
    if (!embedder.local) {
      // Refuse invalid memories before paying for an embedding.
      const check = await checkBeforeStoring(sql, memory.key, memory);
      requireReferences(check, memory);
      if (check.is_taken) return null;
    }
    const embedding = await embed();
    const pending = { store, memory: { ...memory, ttl_ms, embedding }, entry: entry?.of(memory) ?? null };
    const outcome = await write(pending).catch((error) => {
      throw asStoreProblem(error, store.name);
    });
    if (!outcome) return null;
    requireReferences(outcome, memory);
    if (!outcome.has_key) return null;
    // An earlier attempt whose answer was lost may have stored the memory under this key.
    if (!outcome.stored) throw keyTaken(memory.key);
    if (entry) entry.isStored = true;
    return embedding === null;
  };
}

/** In the order given; `null` for a memory whose key another one of the batch has taken. */
async function writeAll(sql: Sql, all: readonly PendingMemory[]): Promise<(Outcome | null)[]> {
  const byKey = new Map<string, PendingMemory>();
  for (const one of all) if (!byKey.has(one.memory.key)) byKey.set(one.memory.key, one);
  const first = [...byKey.values()];
  const outcomes = new Map<string, Outcome>();
  // Most installations have one such store.
  for (const [store, some] of Map.groupBy(first, ({ store }) => store)) {
    const memories = some.map(({ memory }) => memory);
    const rows = some.map(({ memory, entry }) => ({ ...memory, entry, store: store.name }));
    const put = store.backend.insertReserved?.bind(store.backend);
    if (!put) continue;
    for (const outcome of await storeWithKeys(sql, rows, (before) => put(memories, before))) outcomes.set(outcome.id, outcome);
  }
  return all.map(({ memory }) => outcomes.get(memory.id) ?? null);
}

/** Throws `bad_request` if the agent or project of a memory does not exist. */
export function requireReferences(check: Pick<Outcome, "agent" | "project">, { agent_id, project_id }: References): void {
  if (!check.agent) throw fieldProblem("agent_id", `there is no agent "${agent_id}"`);
  if (!check.project) throw fieldProblem("project_id", `there is no project ${project_id}`);
}

export const keyTaken = (key: string): Problem =>
  problem("already_exists", `key: a memory with the key ${quoteKey(key)} already exists`, { field: "key" });

/** A key as shown in an error. */
export const quoteKey = (key: string): string => JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}…` : key);
