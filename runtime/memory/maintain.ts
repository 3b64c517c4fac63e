import type { VectorSettings } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { dropLease, holdLease } from "../platform/lease-queries.ts";
import type { Log } from "../platform/log.ts";
import { type Loop, startLoop } from "../platform/loop.ts";
import { Failure } from "../platform/retry.ts";
import { chunksToEmbed, embedBatch, PostponedTexts } from "./embed-waiting.ts";
import { batchSize, type Embedder } from "./embedder.ts";
import { sweepKeys } from "./queries.ts";
import type { MemoryStores } from "./stores.ts";

interface MaintainDeps {
  readonly sql: Sql;
  readonly stores: MemoryStores;
  readonly embedder: Embedder;
  readonly vectors: VectorSettings;
  readonly log: Log;
  readonly intervalMs?: number;
}

const everyMs = 5_000;
/** Lease renewed while a batch is embedded; after a crash another replica takes over when it expires. */
const leaseSeconds = 10;
const renewMs = 3_000;

/** Deletes expired memories and computes pending vectors, on one replica at a time. */
export function startMaintenance(deps: MaintainDeps): Loop {
  const { sql, log, intervalMs = everyMs } = deps;
  const holder = newId();
  const postponedTexts = new PostponedTexts();
  const hold = () => holdLease(sql, "maintenance", holder, leaseSeconds);
  const run = async (stopSignal: AbortSignal) => {
    if (!(await hold())) return undefined;
    const renewal = startLoop({ everyMs: renewMs, run: async () => void (await hold()), onError: () => {} });
    try {
      await sweep(deps);
      return (await embedWaiting(deps, postponedTexts, stopSignal)) ? { pauseMs: 0 } : undefined;
    } finally {
      await renewal.stop();
    }
  };
  const onError = (error: unknown) =>
    log.warn("memory maintenance failed; retrying", { error: error instanceof Failure ? error.message : error });
  const loop = startLoop({ everyMs: intervalMs, firstMs: 0, run, onError });
  return {
    wake: loop.wake,
    stop: async () => {
      await loop.stop();
      await dropLease(sql, "maintenance", holder).catch(() => {});
    },
  };
}

async function sweep({ sql, stores, log }: MaintainDeps): Promise<void> {
  while ((await sweepKeys(sql)) >= 1000);
  for (const { name, backend } of stores.all) {
    try {
      while ((await backend.sweep()) >= 1000);
    } catch (error) {
      // An unavailable store is cleaned later.
      if ((error as { code?: string }).code !== "unavailable") log.warn("failed to sweep a memory store", { store: name, error });
    }
  }
}

/** Processes one batch of each kind; `true` if more is pending. */
async function embedWaiting(deps: MaintainDeps, postponedTexts: PostponedTexts, signal: AbortSignal): Promise<boolean> {
  let more = false;
  for (const waiting of [...deps.stores.all.map(({ backend }) => backend), chunksToEmbed(deps.sql, deps.vectors)]) {
    const count = await embedBatch(waiting, deps.embedder, postponedTexts, signal).catch((error) => {
      if ((error as { code?: string }).code === "unavailable") return 0;
      throw error;
    });
    more ||= count === batchSize;
  }
  return more;
}
