import type { MemoryFilter, StoredMemory } from "@signalbox/sdk";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import type { OpenVectors } from "../platform/database/vectors.ts";
import type { Log, Report } from "../platform/log.ts";
import type { Embedder } from "./embedder.ts";
import { find, type Query, type SearchHit } from "./find.ts";
import { listMemories, type Page } from "./list.ts";
import { startMaintenance } from "./maintain.ts";
import { createRecall, type Recall, watchStoredKinds } from "./recall.ts";
import { createMemoryRepository, type MemoryRepository } from "./repository.ts";
import type { MemoryStores } from "./stores.ts";

interface MemoryOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly stores: MemoryStores;
  readonly embedder: Embedder;
  readonly vectors: OpenVectors;
  /** Default limit of a search. */
  readonly topK: number;
  /** Maximum number of memories in one prompt. */
  readonly promptLimit: number;
  readonly shortTtlSeconds: number;
  readonly warn: Report;
  /** Interval of maintenance: expiry and pending vectors, milliseconds. */
  readonly intervalMs?: number;
}

/** Memory as used by HTTP, gRPC and prompts. */
export interface Memory extends MemoryRepository {
  list(filter: MemoryFilter, page: Page): Promise<{ items: StoredMemory[]; total: number }>;
  search(query: Omit<Query, "limit"> & { limit?: number }): Promise<SearchHit[]>;
  readonly recall: Recall;
  /** Call after storing document chunks: they wait for their vectors. */
  onChunksStored(): void;
  close(): Promise<void>;
}

export async function openMemory(options: MemoryOptions): Promise<Memory> {
  const { sql, bus, log } = options;
  const storedKinds = await watchStoredKinds(sql, bus, (error) => log.warn("failed to check whether memories exist", { error }));
  const searchOptions = { ...options, anyChunks: storedKinds.chunks };
  const maintenance = startMaintenance(options);
  const repository = createMemoryRepository({
    ...options,
    onStored: (waits) => {
      storedKinds.recordStored("memories");
      if (waits) maintenance.wake();
    },
  });
  return {
    ...repository,
    list: (filter, page) => listMemories(options, filter, page),
    search: ({ limit = options.topK, ...query }) => find(searchOptions, { ...query, limit }),
    recall: createRecall(searchOptions, { limit: options.promptLimit, storedKinds, warn: options.warn }),
    onChunksStored: () => {
      storedKinds.recordStored("chunks");
      maintenance.wake();
    },
    close: async () => {
      storedKinds.close();
      await maintenance.stop();
    },
  };
}
