import type { Json } from "./source-event.ts";

/** Who can see a memory: one task execution, one agent, all agents on a project, or all agents. */
export type MemoryScope = "task" | "agent" | "project" | "organizational";

/** A memory in a store. */
export interface StoredMemory {
  readonly id: string;
  readonly key: string;
  readonly content: string;
  readonly scope: MemoryScope;
  readonly agent_id: string | null;
  readonly project_id: number | null;
  readonly task_id: string | null;
  /** ISO 8601, UTC, milliseconds. */
  readonly created_at: string;
  readonly updated_at: string;
}

/** A memory to store. */
export interface NewMemory extends StoredMemory {
  /** Milliseconds after which the memory expires; `null`: it does not expire. */
  readonly ttl_ms: number | null;
  /** `null` if the embedding model is unavailable: the memory is stored and embedded later. */
  readonly embedding: readonly number[] | null;
}

/** Matches memories whose members equal all given members. */
export type MemoryMatch = Partial<Pick<StoredMemory, "scope" | "agent_id" | "project_id" | "task_id">>;
/** Matches memories that at least one of up to 500 alternatives matches. `[{}]` matches all memories, `[]` none. */
export type MemoryFilter = readonly MemoryMatch[];

/** A search result. */
export interface MemoryHit extends StoredMemory {
  /** 0 to 1, see `similarityFromDistance`. `null` if the memory or the query has no vector. */
  readonly similarity: number | null;
  /** Rank of the text match, 0 to 1; `null` if the query has no text. */
  readonly rank: number | null;
}

/** A full-text query. */
export interface TextQuery {
  /** `all`: web search syntax, every word must occur. `any`: free text, at least one word must occur. */
  readonly words: "all" | "any";
  readonly text: string;
  /** Vector of the same query, to compute the `similarity` of the results; `null` if there is none. */
  readonly vector: readonly number[] | null;
}

/**
 * A store of memories. The host decides on keys, scopes and lifetimes and provides all vectors; the store saves and searches.
 * No call may return an expired memory, even before `sweep` has deleted it. Calls throw `PluginError`: `unavailable`, within
 * two seconds, if the store cannot be reached.
 */
export interface MemoryStore {
  /** One sentence that says where memories are stored. */
  readonly about: string;
  /**
   * Stores a memory. Returns `false` if an unexpired memory has the key. Of several concurrent calls with one key exactly one
   * succeeds.
   */
  put(memory: NewMemory): Promise<boolean>;
  /**
   * For a store in the host's database: an `insert … returning id` that stores the memories whose `id` is in the relation
   * `held`, with the semantics of `put`. The host embeds it in a statement that already has `parametersBefore` parameters.
   */
  insertReserved?(memories: readonly NewMemory[], parametersBefore: number): SqlStatement;
  /** Returns `null` if there is no memory with the key. */
  get(key: string): Promise<StoredMemory | null>;
  /** Returns `false` if there is no memory with the key. */
  delete(key: string): Promise<boolean>;
  /** Newest first: by `created_at`, then by `id`, both descending. */
  list(filter: MemoryFilter, page: { limit: number; offset: number }): Promise<{ items: StoredMemory[]; total: number }>;
  /** The `limit` memories closest to a vector, closest first. Memories without a vector are not returned. */
  nearest(vector: readonly number[], filter: MemoryFilter, limit: number): Promise<MemoryHit[]>;
  /** The `limit` memories that match the text best, best first. English: inflected forms match, stop words are ignored. */
  match(query: TextQuery, filter: MemoryFilter, limit: number): Promise<MemoryHit[]>;
  /** Memories without a vector, oldest first. */
  unembedded(limit: number): Promise<{ id: string; content: string }[]>;
  /** Stores the vectors of memories. Memories that do not exist are skipped. */
  embed(entries: readonly { id: string; embedding: readonly number[] }[]): Promise<void>;
  /** Deletes all vectors. The host calls it when the embedding model changes. */
  clearVectors(): Promise<void>;
  /** Deletes expired memories and returns their number. */
  sweep(): Promise<number>;
  /** Throws if the store cannot be reached. */
  check(): Promise<void>;
}

/** Distance metric of vectors: cosine, Euclidean or inner product. */
export type DistanceMetric = "cosine" | "l2" | "ip";

/** Properties of the embeddings: the capability `vectors`. */
export interface VectorSettings {
  /** Number of dimensions. */
  readonly dimension: number;
  readonly metric: DistanceMetric;
  /** Name of the embedding model. Vectors of different models cannot be compared. */
  readonly model: string;
  /** SQL type of the columns named `embedding`, for casts, for example `vector(1536)`. */
  readonly type: string;
  /** pgvector's operator for the metric. */
  readonly operator: "<=>" | "<->" | "<#>";
}

/** An SQL statement with the parameters `$1`, `$2` … */
export interface SqlStatement {
  readonly text: string;
  readonly parameters: readonly Json[];
}
export type SqlRow = Record<string, Json>;

/** The database of the host: the capability `sql`. For built-in plugins only. */
export interface SqlAccess {
  query<Row = SqlRow>(statement: SqlStatement): Promise<Row[]>;
  /** Returns the rows whose vectors are closest, closest first, each with its `distance`. */
  nearest<Row = SqlRow>(query: VectorQuery): Promise<Row[]>;
}

/** A vector search in the column `embedding` of a table. The table must have a column `id`. */
export interface VectorQuery {
  readonly table: string;
  /** Columns of the result, as SQL. */
  readonly columns: string;
  readonly vector: readonly number[];
  readonly limit: number;
  /** SQL conditions of which a row must satisfy at least one. Each must be backed by an index. Default: every row. */
  readonly anyOf?: readonly string[];
  /** SQL condition that every row must satisfy. */
  readonly condition?: string;
  /** Parameters `$1`, `$2` … of the conditions. */
  readonly parameters: readonly Json[];
  /** SQL `select` from the relation `found`, which has the columns and `distance`. Default: all rows of `found`, closest first. */
  readonly answer?: string;
}

export type RedisReply = null | number | string | readonly RedisReply[];

/** The Redis server of the host: the capability `redis`. Every key must start with `prefix`. */
export interface RedisAccess {
  readonly prefix: string;
  /**
   * Runs one command. Throws a `PluginError` with the code `unavailable` immediately if Redis is down, and after one second
   * without a response.
   */
  call(command: string, ...args: readonly (string | number)[]): Promise<RedisReply>;
  /** Runs a Lua script. Its source is sent only once. */
  script(source: string, keys: readonly string[], args: readonly (string | number)[]): Promise<RedisReply>;
}
