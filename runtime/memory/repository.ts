import { problem } from "@signalbox/schema/problem";
import type { MemoryScope, StoredMemory } from "@signalbox/sdk";
import { databaseInstant } from "../platform/clock.ts";
import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { AuditEntry } from "../platform/operation.ts";
import type { Embedder } from "./embedder.ts";
import { createInlineStore, type InlineStore, inDatabase, keyTaken, quoteKey, requireReferences } from "./inline-store.ts";
import {
  confirmKeys,
  findKey,
  markKeyUnconfirmed,
  pendingMs,
  type References,
  type Reservation,
  releaseKey,
  reserveKey,
  takeKey,
} from "./queries.ts";
import { type MemoryStores, type NamedStore, storeFor, withStore } from "./stores.ts";

interface MemoryRepositoryDeps {
  readonly sql: Sql;
  readonly stores: MemoryStores;
  readonly embedder: Embedder;
  /** Default lifetime of a short-term memory, seconds. */
  readonly shortTtlSeconds: number;
  readonly log: Log;
  /** Called after a memory was stored; `waits` if its vector is pending. */
  readonly onStored: (waits: boolean) => void;
}

interface MemoryInput {
  readonly key: string;
  readonly content: string;
  readonly scope: MemoryScope;
  readonly agent_id?: string | null | undefined;
  readonly project_id?: number | null | undefined;
  readonly task_id?: string | null | undefined;
  readonly ttl_seconds?: number | null | undefined;
  /** Original creation time of an imported memory, ISO 8601. */
  readonly created_at?: string | undefined;
}

/** Creates, reads and deletes a memory by its key. */
export interface MemoryRepository {
  /** `entry`: stored together with the memory where that is possible. */
  create(input: MemoryInput, entry?: AuditEntry): Promise<StoredMemory>;
  get(key: string): Promise<StoredMemory>;
  remove(key: string): Promise<void>;
}

const notFound = (key: string) => problem("not_found", `There is no memory with the key ${quoteKey(key)}.`);
const notConfigured = (store: string) => problem("unavailable", `The memory is in the store ${store}, which is not configured.`);

export function createMemoryRepository(deps: MemoryRepositoryDeps): MemoryRepository {
  const { sql, log } = deps;
  const writers = { confirm: confirmLater(sql), storeInline: createInlineStore(deps) };
  return {
    create: (input, entry) => create(deps, input, writers, entry),
    get: async (key) => {
      const store = await storeOf(deps, key);
      const memory = store && (await withStore(store, (backend) => backend.get(key)));
      if (!memory) throw notFound(key);
      return memory;
    },
    remove: async (key) => {
      const row = await findKey(sql, key);
      const store = await storeOf(deps, key, row);
      const wasDeleted = store && (await withStore(store, (backend) => backend.delete(key)));
      if (row)
        await releaseKey(sql, key, row.id).catch((error) => log.warn("failed to release the key of a deleted memory", { error }));
      if (!wasDeleted) throw notFound(key);
    },
  };
}

type Confirm = (one: Reservation) => Promise<boolean>;

/** Confirmation after the answer: the next request for an unconfirmed key checks the store. */
const confirmLater = (sql: Sql): Confirm =>
  batch(
    async (all: Reservation[]) => {
      const rows = await confirmKeys(
        sql,
        all.map(({ id, ttl_ms }) => ({ id, ttl_ms })),
      );
      const confirmedIds = new Set(rows.map(({ id }) => id));
      return all.map(({ id }) => confirmedIds.has(id));
    },
    { maxItems: 500, concurrency: 1 },
  );

/** The store that holds a key; `undefined` if the key is free. */
async function storeOf(
  { sql, stores }: MemoryRepositoryDeps,
  key: string,
  known?: Awaited<ReturnType<typeof findKey>>,
): Promise<NamedStore | undefined> {
  const row = known ?? (await findKey(sql, key));
  if (!row || row.free) return undefined;
  const store = stores.byName(row.store);
  if (!store) throw notConfigured(row.store);
  return store;
}

async function create(
  deps: MemoryRepositoryDeps,
  input: MemoryInput,
  writers: { readonly confirm: Confirm; readonly storeInline: InlineStore },
  entry: AuditEntry | undefined,
): Promise<StoredMemory> {
  const { key, content, scope, agent_id = null, project_id = null, task_id = null } = input;
  const store = storeFor(deps.stores, scope);
  const seconds = input.ttl_seconds ?? (scope === "task" ? deps.shortTtlSeconds : null);
  const one = { key, id: newId(), store: store.name, ttl_ms: seconds === null ? null : seconds * 1000 };
  const now = databaseInstant();
  const created_at = input.created_at ? new Date(input.created_at).toISOString() : now;
  const memory = { id: one.id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at: now };
  const embed = () => deps.embedder.embedSoon(content);
  const waits =
    (await writers.storeInline(store, { memory, ttl_ms: one.ttl_ms, embed, entry })) ??
    (await storeInSteps(deps, store, memory, one, embed, writers.confirm));
  deps.onStored(waits);
  return memory;
}

/**
 * For a store outside the database, in three steps: reserve the key, write the memory, confirm. Returns whether it waits for its
 * vector.
 */
async function storeInSteps(
  deps: MemoryRepositoryDeps,
  store: NamedStore,
  memory: StoredMemory,
  one: Reservation,
  embed: () => Promise<number[] | null>,
  confirm: Confirm,
): Promise<boolean> {
  const { key } = memory;
  // Refuse a taken key before paying for an embedding.
  await claimKey(deps, one, memory);
  const startedAt = performance.now();
  const embedding = await embed();
  let stored: boolean;
  try {
    stored = await withStore(store, (backend) => backend.put({ ...memory, ttl_ms: one.ttl_ms, embedding }));
  } catch (error) {
    await markKeyUnconfirmed(deps.sql, key, one.id).catch(() => {});
    throw error;
  }
  const confirmation = confirm(one);
  // An earlier attempt whose answer was lost may have stored the memory under this key.
  if (!stored) {
    confirmation.catch(() => {});
    throw keyTaken(key);
  }
  if (performance.now() - startedAt > pendingMs / 2) await keepIfConfirmed(store, key, confirmation);
  else confirmation.catch((error) => deps.log.warn("failed to confirm the key of a new memory", { error }));
  return embedding === null;
}

/** If creation took so long that another one may have taken the key, undo it. */
async function keepIfConfirmed(store: NamedStore, key: string, confirmation: Promise<boolean>): Promise<void> {
  if (await confirmation) return;
  await withStore(store, (backend) => backend.delete(key));
  throw keyTaken(key);
}

/**
 * Reserves a key. Throws `bad_request` if the agent or project does not exist, `already_exists` if the key is taken, and `unavailable` if
 * its memory has not expired yet in a store that may be configured again. Takes over the key of a memory that no longer exists,
 * because its creation died or its store lost it.
 */
async function claimKey({ sql, stores }: MemoryRepositoryDeps, one: Reservation, refers: References): Promise<void> {
  const reserve = async () => {
    const { has_key, agent, project } = await reserveKey(sql, one, refers, one.store === inDatabase);
    requireReferences({ agent, project }, refers);
    return has_key;
  };
  if (await reserve()) return;
  const holder = await findKey(sql, one.key);
  if (!holder || holder.free) {
    if (await reserve()) return;
    throw keyTaken(one.key);
  }
  if (holder.pending) throw keyTaken(one.key);
  const store = stores.byName(holder.store);
  if (!store && holder.expires) throw notConfigured(holder.store);
  const there = store ? await withStore(store, (backend) => backend.get(one.key)) : null;
  if (there || !(await takeKey(sql, holder.id, one))) throw keyTaken(one.key);
}
