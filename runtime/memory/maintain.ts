import type { MemoryBackend, Vectors } from "@signalbox/sdk";
import { Failure, pause } from "../agent/attempts.ts";
import type { Sql } from "../database/client.ts";
import { newId } from "../ids.ts";
import type { Log } from "../log.ts";
import { embedChunks, listUnembeddedChunks } from "./chunk-queries.ts";
import type { Embedder } from "./embedder.ts";
import { dropLease, holdLease, sweepKeys } from "./queries.ts";
import type { Stores } from "./stores.ts";

export interface MaintainDeps {
  readonly sql: Sql;
  readonly stores: Stores;
  readonly embedder: Embedder;
  readonly vectors: Vectors;
  readonly log: Log;
  readonly intervalMs?: number;
}

export interface Maintenance {
  /** Something waits for its vector: look soon. */
  wake(): void;
  stop(): Promise<void>;
}

const everyMs = 5_000;
const lease = "maintenance";
/** Kept alive while a batch is embedded; after a crash another replica goes on so soon. */
const leaseSeconds = 10;
const batchSize = 64;
const embedMs = 60_000;
/** What the model refused it is asked for again after so long: the model, or the proxy before it, may have been mended. */
const askAgainMs = 600_000;

/** Sweeps what has expired and embeds what waits, on one replica at a time. */
export function startMaintenance(deps: MaintainDeps): Maintenance {
  const { sql, log, intervalMs = everyMs } = deps;
  const holder = newId();
  const stopping = new AbortController();
  let rouse = () => {};
  let woken = false;
  /** Texts that the model refuses: the others must not wait behind them. */
  const refused = new Set<string>();
  let askAgainAt = Date.now() + askAgainMs;
  const loop = async () => {
    while (!stopping.signal.aborted) {
      let more = false;
      woken = false;
      if (Date.now() >= askAgainAt) {
        refused.clear();
        askAgainAt = Date.now() + askAgainMs;
      }
      try {
        if (await holdLease(sql, lease, holder, leaseSeconds)) {
          const alive = setInterval(() => void holdLease(sql, lease, holder, leaseSeconds).catch(() => {}), 3_000);
          try {
            await sweep(deps);
            more = await embedWaiting(deps, refused, stopping.signal);
          } finally {
            clearInterval(alive);
          }
        }
      } catch (error) {
        if (!stopping.signal.aborted)
          log.warn("the care of memories was interrupted", { error: error instanceof Failure ? error.message : error });
      }
      if (more || woken) continue;
      const roused = new Promise<void>((done) => {
        rouse = done;
      });
      await Promise.race([pause(intervalMs, stopping.signal).catch(() => {}), roused]);
    }
  };
  const done = loop();
  return {
    wake: () => {
      woken = true;
      rouse();
    },
    stop: async () => {
      stopping.abort();
      await done;
      await dropLease(sql, lease, holder).catch(() => {});
    },
  };
}

async function sweep({ sql, stores, log }: MaintainDeps): Promise<void> {
  while ((await sweepKeys(sql)) >= 1000);
  for (const { name, backend } of stores.all) {
    try {
      while ((await backend.sweep()) >= 1000);
    } catch (error) {
      // A store that is away sweeps later.
      if ((error as { code?: string }).code !== "unavailable") log.warn("a store was not swept", { store: name, error });
    }
  }
}

/** What gives vectors to rows that wait: a store of memories, or the table of chunks. */
export type Waiting = Pick<MemoryBackend, "unembedded" | "embed">;

export const waitingChunks = (sql: Sql, vectors: Vectors): Waiting => ({
  unembedded: (limit) => listUnembeddedChunks(sql, limit),
  embed: (entries) => embedChunks(sql, entries, vectors),
});

/** One batch of each; `true` where more waits. */
async function embedWaiting(deps: MaintainDeps, refused: Set<string>, signal: AbortSignal): Promise<boolean> {
  let more = false;
  for (const waiting of [...deps.stores.all.map(({ backend }) => backend), waitingChunks(deps.sql, deps.vectors)]) {
    const count = await embedBatch(waiting, deps.embedder, refused, signal).catch((error) => {
      if ((error as { code?: string }).code === "unavailable") return 0;
      throw error;
    });
    more ||= count === batchSize;
  }
  return more;
}

/** Embeds the oldest that wait; answers how many were taken up. Throws while the model cannot be reached. */
export async function embedBatch(waiting: Waiting, embedder: Embedder, refused: Set<string>, stop: AbortSignal): Promise<number> {
  const rows = (await waiting.unembedded(batchSize + refused.size)).filter(({ id }) => !refused.has(id)).slice(0, batchSize);
  if (rows.length === 0) return 0;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(embedMs)]);
  const vectorsOf = (some: typeof rows) =>
    embedder.embedAll(
      some.map(({ content }) => content),
      signal,
    );
  try {
    const vectors = await vectorsOf(rows);
    await waiting.embed(rows.map(({ id }, i) => ({ id, embedding: vectors[i] as number[] })));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    for (const row of rows) {
      try {
        const [embedding] = await vectorsOf([row]);
        await waiting.embed([{ id: row.id, embedding: embedding as number[] }]);
      } catch (failure) {
        // Anything else, such as a model that went away meanwhile, is not the text's fault.
        if (!isRefusal(failure)) throw failure;
        refused.add(row.id);
      }
    }
  }
  return rows.length;
}

const isRefusal = (error: unknown): boolean => error instanceof Failure && [400, 413, 422].includes(error.status ?? 0);
