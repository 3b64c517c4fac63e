import type { VectorSettings } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { Failure, sleep } from "../platform/retry.ts";
import { batchSize, embedBatch, SetAside, waitingChunks } from "./embed-waiting.ts";
import type { Embedder } from "./embedder.ts";
import { dropLease, holdLease, sweepKeys } from "./queries.ts";
import type { MemoryStores } from "./stores.ts";

export interface MaintainDeps {
  readonly sql: Sql;
  readonly stores: MemoryStores;
  readonly embedder: Embedder;
  readonly vectors: VectorSettings;
  readonly log: Log;
  readonly intervalMs?: number;
}

export interface Maintenance {
  /** A vector is pending: run soon. */
  wake(): void;
  stop(): Promise<void>;
}

const everyMs = 5_000;
const lease = "maintenance";
/** Lease renewed while a batch is embedded; after a crash another replica takes over when it expires. */
const leaseSeconds = 10;

/** Deletes expired memories and computes pending vectors, on one replica at a time. */
export function startMaintenance(deps: MaintainDeps): Maintenance {
  const { sql, log, intervalMs = everyMs } = deps;
  const holder = newId();
  const stopping = new AbortController();
  let rouse = () => {};
  let woken = false;
  const aside = new SetAside();
  const loop = async () => {
    while (!stopping.signal.aborted) {
      let more = false;
      woken = false;
      try {
        if (await holdLease(sql, lease, holder, leaseSeconds)) {
          const alive = setInterval(() => void holdLease(sql, lease, holder, leaseSeconds).catch(() => {}), 3_000);
          try {
            await sweep(deps);
            more = await embedWaiting(deps, aside, stopping.signal);
          } finally {
            clearInterval(alive);
          }
        }
      } catch (error) {
        if (!stopping.signal.aborted)
          log.warn("memory maintenance failed; retrying", { error: error instanceof Failure ? error.message : error });
      }
      if (more || woken) continue;
      const roused = new Promise<void>((done) => {
        rouse = done;
      });
      await Promise.race([sleep(intervalMs, stopping.signal).catch(() => {}), roused]);
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
      // An unavailable store is swept later.
      if ((error as { code?: string }).code !== "unavailable") log.warn("failed to sweep a memory store", { store: name, error });
    }
  }
}

/** Processes one batch of each kind; `true` if more is pending. */
async function embedWaiting(deps: MaintainDeps, aside: SetAside, signal: AbortSignal): Promise<boolean> {
  let more = false;
  for (const waiting of [...deps.stores.all.map(({ backend }) => backend), waitingChunks(deps.sql, deps.vectors)]) {
    const count = await embedBatch(waiting, deps.embedder, aside, signal).catch((error) => {
      if ((error as { code?: string }).code === "unavailable") return 0;
      throw error;
    });
    more ||= count === batchSize;
  }
  return more;
}
