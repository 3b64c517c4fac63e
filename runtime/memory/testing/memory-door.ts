import memoryPgvector from "@signalbox/plugin-memory-pgvector";
import type { MemoryStore } from "@signalbox/sdk";
import { agentOperations } from "../../agents/operations.ts";
import type { Embed } from "../../llm/embeddings.ts";
import { openBus } from "../../platform/bus.ts";
import { sqlAccess } from "../../platform/database/nearest.ts";
import { openVectors } from "../../platform/database/vectors.ts";
import type { BoundOperation } from "../../platform/operation.ts";
import { projectOperations } from "../../projects/operations.ts";
import { type Door, noLog, openDoor } from "../../transports/http/testing/door.ts";
import { createEmbedder, localEmbedder } from "../embedder.ts";
import { type Memory, openMemory } from "../open.ts";
import { memoryOperations } from "../operations.ts";
import { storesOf } from "../stores.ts";

export interface MemoryDoor {
  readonly door: Door;
  readonly memory: Memory;
  readonly warnings: string[];
  close(): Promise<void>;
}

const dimension = 256;

/** The memory, agent and project operations over an embedded database. */
export async function openMemoryDoor(
  doorOptions: {
    embed?: Embed;
    short?: MemoryStore;
    shortTtlSeconds?: number;
    wrap?: (operations: readonly BoundOperation[]) => BoundOperation[];
  } = {},
): Promise<MemoryDoor> {
  let memory: Memory | undefined;
  const warnings: string[] = [];
  const door = await openDoor(async (database) => {
    const embedder = doorOptions.embed ? createEmbedder("test", dimension, doorOptions.embed) : localEmbedder(dimension);
    const options = { dimension, model: embedder.model, metric: "cosine" as const, index: "hnsw" as const, probes: 10 };
    const vectors = await openVectors(database, ["memories", "document_chunks"], options, noLog);
    const { memories } = await memoryPgvector.setup({ sql: sqlAccess(database.sql, vectors.nearest), vectors, config: {} });
    const long = { name: "pgvector", backend: memories?.pgvector as MemoryStore };
    const bus = await openBus(database, noLog);
    memory = await openMemory({
      sql: database.sql,
      bus,
      log: noLog,
      embedder,
      vectors,
      stores: storesOf(long, doorOptions.short ? { name: "short", backend: doorOptions.short } : long),
      topK: 10,
      promptLimit: 10,
      shortTtlSeconds: doorOptions.shortTtlSeconds ?? 3600,
      warn: (message) => void warnings.push(message),
      intervalMs: 200,
    });
    const operations = [...memoryOperations(memory), ...agentOperations(bus), ...projectOperations(bus, async () => [])];
    return doorOptions.wrap?.(operations) ?? operations;
  });
  const close = async () => {
    await memory?.close();
    await door.close();
  };
  return { door, memory: memory as Memory, warnings, close };
}
