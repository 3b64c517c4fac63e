import {
  type MemoryFilter,
  type MemoryHit,
  type MemoryStore,
  PluginError,
  type StoredMemory,
  similarityFromDistance,
  type VectorSettings,
  vectorDistance,
  wordMatcher,
} from "@signalbox/sdk";
import type { Document, Store } from "./store.ts";

/** Handles the common endings only; a store with full-text search does this better. */
const words = wordMatcher((word) => (word.length > 4 ? word.replace(/(ing|ed|es|s|e)$/, "") : word));

const newestFirst = (a: StoredMemory, b: StoredMemory): number =>
  b.created_at.localeCompare(a.created_at) || (a.id < b.id ? 1 : -1);

/**
 * Ranks the documents that match the filter in this process. If your store can search by vector or words, let it search instead.
 */
export function backend(store: Store, vectors: Pick<VectorSettings, "dimension" | "metric" | "model">): MemoryStore {
  const similarity = (vector: readonly number[] | null, { embedding, model }: Document): number | null =>
    !vector || !embedding || model !== vectors.model || embedding.length !== vector.length
      ? null
      : similarityFromDistance(vectors.metric, vectorDistance(vectors.metric, vector, embedding));
  const check = (embedding: readonly number[]) => {
    if (embedding.length !== vectors.dimension)
      throw new PluginError("invalid_input", `The vector must have ${vectors.dimension} dimensions; it has ${embedding.length}.`);
  };
  const bestHits = async (
    filter: MemoryFilter,
    limit: number,
    hit: (one: Document) => MemoryHit | null,
    by: "similarity" | "rank",
  ) => {
    const hits = (await store.find(filter)).flatMap((one) => hit(one) ?? []);
    return hits.sort((a, b) => (b[by] ?? 0) - (a[by] ?? 0)).slice(0, limit);
  };
  return {
    about: "A store of JSON documents, over HTTP.",
    put: ({ ttl_ms, embedding, ...memory }) => {
      if (embedding) check(embedding);
      return store.create({ memory, embedding: embedding && [...embedding], model: embedding && vectors.model }, ttl_ms);
    },
    get: async (key) => (await store.byKey(key))?.memory ?? null,
    delete: async (key) => {
      const entry = await store.byKey(key);
      return entry !== null && store.remove(entry.memory.id);
    },
    list: async (filter, { limit, offset }) => {
      const all = (await store.find(filter)).map(({ memory }) => memory).sort(newestFirst);
      return { items: all.slice(offset, offset + limit), total: all.length };
    },
    nearest: (vector, filter, limit) => {
      const hit = (one: Document) => {
        const close = similarity(vector, one);
        return close === null ? null : { ...one.memory, similarity: close, rank: null };
      };
      return bestHits(filter, limit, hit, "similarity");
    },
    match: (query, filter, limit) => {
      const score = words[query.words](query.text);
      const hit = (one: Document) => {
        const rank = score(one.memory.content);
        return rank === null ? null : { ...one.memory, rank, similarity: similarity(query.vector, one) };
      };
      return bestHits(filter, limit, hit, "rank");
    },
    unembedded: async (limit) => {
      const waiting = (await store.find([{}])).filter(({ embedding, model }) => embedding === null || model !== vectors.model);
      return waiting
        .map(({ memory }) => memory)
        .sort((a, b) => newestFirst(b, a))
        .slice(0, limit)
        .map(({ id, content }) => ({ id, content }));
    },
    embed: async (entries) => {
      for (const { id, embedding } of entries) {
        check(embedding);
        await store.embed(id, embedding, vectors.model);
      }
    },
    clearVectors: async () => {
      for (const { memory } of await store.find([{}])) await store.embed(memory.id, null, null);
    },
    sweep: async () => 0,
    check: async () => void (await store.find([])),
  };
}
