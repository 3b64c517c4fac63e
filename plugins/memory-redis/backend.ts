import {
  type MemoryFilter,
  type MemoryHit,
  type MemoryMatch,
  type MemoryStore,
  PluginError,
  type RedisAccess,
  type RedisReply,
  type StoredMemory,
  similarityFromDistance,
  type VectorSettings,
  vectorDistance,
  wordMatcher,
} from "@signalbox/sdk";
import { stemmer } from "stemmer";
import * as scripts from "./scripts.ts";

const matcher = wordMatcher(stemmer);

/** Memories per round trip. */
const pageSize = 256;
type Hit = MemoryHit;

/** Short-term memories are few and short-lived, so a search reads all that match its filter and ranks them here. */
export function redisBackend(redis: RedisAccess, vectors: VectorSettings): MemoryStore {
  const keyOf = (kind: "m" | "k" | "i" | "x", name: string) => `${redis.prefix}${kind}:${name}`;
  const indexKeys = (memory: StoredMemory, waits: boolean) =>
    indexesOf(memory, waits).flatMap((name) => [keyOf("i", name), keyOf("x", name)]);

  const read = async (ids: readonly string[]): Promise<Entry[]> => {
    const replies = await Promise.all(ids.map((id) => redis.call("HMGET", keyOf("m", id), "doc", "vector", "model")));
    return replies.flatMap((reply) => entryOf(reply, vectors.model));
  };
  const pageOf = async (index: string, offset: number, limit: number): Promise<[number, string[]]> =>
    (await redis.script(scripts.page, [keyOf("i", index), keyOf("x", index)], [offset, limit])) as unknown as [number, string[]];

  /** Every memory that matches a filter, without duplicates. */
  async function* entries(filter: MemoryFilter): AsyncGenerator<Entry> {
    const seen = new Set<string>();
    for (const match of filter) {
      const index = indexFor(match);
      for (let offset = 0; ; offset += pageSize) {
        const [, ids] = await pageOf(index, offset, pageSize);
        for (const entry of await read(ids.filter((id) => !seen.has(id)))) {
          // A memory that one alternative excludes may match another.
          if (!matches(entry.memory, match)) continue;
          seen.add(entry.memory.id);
          yield entry;
        }
        if (ids.length < pageSize) break;
      }
    }
  }
  const bestHits = async (
    filter: MemoryFilter,
    limit: number,
    hit: (entry: Entry) => Hit | null,
    score: (hit: Hit) => number,
  ) => {
    const hits: Hit[] = [];
    for await (const entry of entries(filter)) {
      const found = hit(entry);
      if (found) hits.push(found);
    }
    return hits.sort((a, b) => score(b) - score(a) || (a.id < b.id ? 1 : -1)).slice(0, limit);
  };
  const similarity = (vector: ArrayLike<number> | null, other: ArrayLike<number> | null) =>
    vector && other && vector.length === other.length
      ? similarityFromDistance(vectors.metric, vectorDistance(vectors.metric, vector, other))
      : null;
  const find = async (key: string): Promise<StoredMemory | null> => {
    const id = await redis.call("GET", keyOf("k", key));
    return typeof id === "string" ? ((await read([id]))[0]?.memory ?? null) : null;
  };

  return {
    about: "Redis: one hash with an expiry per memory.",
    put: async ({ ttl_ms, embedding, ...memory }) => {
      const keys = [keyOf("m", memory.id), keyOf("k", memory.key), ...indexKeys(memory, embedding === null)];
      const vector = embedding ? pack(embedding, vectors) : "";
      const args = [memory.id, JSON.stringify(memory), Date.parse(memory.created_at), ttl_ms ?? 0, vector, vectors.model];
      return (await redis.script(scripts.put, keys, args)) === 1;
    },
    get: find,
    delete: async (key) => {
      const memory = await find(key);
      if (!memory) return false;
      const keys = [keyOf("m", memory.id), keyOf("k", key), ...indexKeys(memory, true)];
      return (await redis.script(scripts.remove, keys, [memory.id])) === 1;
    },
    list: async (filter, { limit, offset }) => {
      const [match] = filter;
      if (match && filter.length === 1 && Object.keys(match).length <= 1 && !Object.values(match).includes(null)) {
        const [total, ids] = await pageOf(indexFor(match), offset, limit);
        return { items: (await read(ids)).map(({ memory }) => memory), total };
      }
      const all: StoredMemory[] = [];
      for await (const { memory } of entries(filter)) all.push(memory);
      all.sort((a, b) => (a.created_at === b.created_at ? (a.id < b.id ? 1 : -1) : a.created_at < b.created_at ? 1 : -1));
      return { items: all.slice(offset, offset + limit), total: all.length };
    },
    nearest: (vector, filter, limit) => {
      const hit = (entry: Entry): Hit | null => {
        const close = similarity(vector, entry.vector);
        return close === null ? null : { ...entry.memory, similarity: close, rank: null };
      };
      return bestHits(filter, limit, hit, (one) => one.similarity ?? 0);
    },
    match: ({ text, words, vector }, filter, limit) => {
      const score = words === "all" ? matcher.all(text) : matcher.any(text);
      const hit = (entry: Entry): Hit | null => {
        const rank = score(entry.memory.content);
        return rank === null ? null : { ...entry.memory, rank, similarity: similarity(vector, entry.vector) };
      };
      return bestHits(filter, limit, hit, (one) => one.rank ?? 0);
    },
    unembedded: async (limit) => {
      const [, ids] = await pageOf("waits", 0, 100_000);
      const oldest = await read(ids.reverse().slice(0, limit));
      return oldest.map(({ memory }) => ({ id: memory.id, content: memory.content }));
    },
    embed: async (entries) => {
      for (const { id, embedding } of entries) {
        const keys = [keyOf("m", id), keyOf("i", "waits"), keyOf("x", "waits")];
        await redis.script(scripts.embed, keys, [id, pack(embedding, vectors), vectors.model]);
      }
    },
    clearVectors: async () => {
      for (let offset = 0; ; offset += pageSize) {
        const [, ids] = await pageOf("all", offset, pageSize);
        for (const id of ids)
          await redis.script(
            scripts.forget,
            [keyOf("m", id), keyOf("i", "all"), keyOf("x", "all"), keyOf("i", "waits"), keyOf("x", "waits")],
            [id],
          );
        if (ids.length < pageSize) return;
      }
    },
    // Redis removes expired memories itself; their index entries are removed when the index is read.
    sweep: async () => {
      await pageOf("all", 0, 1);
      return 0;
    },
    check: async () => void (await redis.call("PING")),
  };
}

interface Entry {
  readonly memory: StoredMemory;
  readonly vector: Float32Array | null;
}

function entryOf(reply: RedisReply, model: string): Entry[] {
  const [doc, vector, madeBy] = reply as (string | null)[];
  if (typeof doc !== "string") return [];
  const usable = typeof vector === "string" && madeBy === model;
  return [{ memory: JSON.parse(doc) as StoredMemory, vector: usable ? unpack(vector) : null }];
}

function pack(vector: readonly number[], { dimension }: VectorSettings): string {
  if (vector.length !== dimension)
    throw new PluginError("invalid_input", `The vector must have ${dimension} dimensions; it has ${vector.length}.`);
  return Buffer.from(Float32Array.from(vector).buffer).toString("base64");
}
const unpack = (text: string): Float32Array => {
  const bytes = Buffer.from(text, "base64");
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
};

const indexesOf = (memory: StoredMemory, waits: boolean): string[] => [
  "all",
  `scope:${memory.scope}`,
  ...(memory.task_id === null ? [] : [`task:${memory.task_id}`]),
  ...(memory.agent_id === null ? [] : [`agent:${memory.agent_id}`]),
  ...(memory.project_id === null ? [] : [`project:${memory.project_id}`]),
  ...(waits ? ["waits"] : []),
];

/** The smallest index that contains every match. */
function indexFor({ task_id, agent_id, project_id, scope }: MemoryMatch): string {
  if (task_id) return `task:${task_id}`;
  if (agent_id) return `agent:${agent_id}`;
  if (project_id) return `project:${project_id}`;
  return scope ? `scope:${scope}` : "all";
}

const matches = (memory: StoredMemory, match: MemoryMatch): boolean =>
  (Object.entries(match) as [keyof MemoryMatch, unknown][]).every(([name, value]) => memory[name] === value);
