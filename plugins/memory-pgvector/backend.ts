import {
  type MemoryHit,
  type MemoryStore,
  type SqlAccess,
  type StoredMemory,
  similarityFromDistance,
  type VectorSettings,
} from "@signalbox/sdk";
import * as queries from "./queries.ts";

type FoundMemory = StoredMemory & { distance: number | null; rank?: number };

export function pgvectorBackend(sql: SqlAccess, vectors: VectorSettings): MemoryStore {
  const hit = ({ distance, rank, ...memory }: FoundMemory): MemoryHit => ({
    ...memory,
    similarity: distance === null ? null : similarityFromDistance(vectors.metric, distance),
    rank: rank ?? null,
  });
  return {
    about: "PostgreSQL: vector search by pgvector, text search by the English full-text index.",
    put: async (memory) => (await sql.query(queries.insertMemory(memory, vectors))).length > 0,
    insertReserved: (memories, before) => queries.insertReserved(memories, vectors, before),
    get: async (key) => (await sql.query<StoredMemory>(queries.findMemory(key)))[0] ?? null,
    delete: async (key) => (await sql.query<{ alive: boolean }>(queries.deleteMemory(key)))[0]?.alive ?? false,
    list: async (filter, page) => {
      const [items, [count]] = await Promise.all([
        sql.query<StoredMemory>(queries.listMemories(filter, page)),
        sql.query<{ total: number }>(queries.countMemories(filter)),
      ]);
      return { items, total: count?.total ?? 0 };
    },
    nearest: async (vector, filter, limit) =>
      (await sql.nearest<FoundMemory>(queries.nearestMemories(vector, filter, limit))).map(hit),
    match: async (query, filter, limit) =>
      (await sql.query<FoundMemory>(queries.matchMemories(query, filter, limit, vectors))).map(hit),
    unembedded: (limit) => sql.query(queries.listUnembedded(limit)),
    embed: async (entries) => void (entries.length > 0 && (await sql.query(queries.embedMemories(entries, vectors)))),
    clearVectors: async () => void (await sql.query(queries.clearVectors)),
    sweep: async () => (await sql.query(queries.sweepMemories)).length,
    check: async () => void (await sql.query(queries.probe)),
  };
}
