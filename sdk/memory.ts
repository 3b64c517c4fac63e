import type { Json } from "./contract.ts";

/** Who sees a memory: one task execution, one agent, all agents on a project, or all agents. */
export type MemoryScope = "task" | "agent" | "project" | "organizational";

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

export interface NewMemory extends StoredMemory {
  /** Forgotten after so many milliseconds; `null`: never. */
  readonly ttl_ms: number | null;
  /** `null` while the embedder is down: the memory is stored all the same, and embedded later. */
  readonly embedding: readonly number[] | null;
}

/** All members that are given must be equal to the memory's own. */
export type MemoryMatch = Partial<Pick<StoredMemory, "scope" | "agent_id" | "project_id" | "task_id">>;
/** Matches what one of the alternatives matches; `[{}]` is everything, `[]` nothing. */
export type MemoryFilter = readonly MemoryMatch[];

export interface MemoryHit extends StoredMemory {
  /** 0 to 1, see `similarityFromDistance`. `null` where the memory or the query has no vector. */
  readonly similarity: number | null;
  /** How well the words match, 0 to 1; `null` where no words were asked for. */
  readonly rank: number | null;
}

export interface TextQuery {
  /** `all`: web search syntax, every word must occur. `any`: free text, whatever occurs counts. */
  readonly words: "all" | "any";
  readonly text: string;
  /** Vector of the same query, for the `similarity` of the hits; `null` where there is none. */
  readonly vector: readonly number[] | null;
}

/**
 * A store of memories. The host decides on keys, scopes and lifetimes, and hands every vector in; a backend stores and
 * finds. An expired memory does not exist for any call, whether or not it was swept. Errors are `PluginError`s:
 * `unavailable` while the store cannot be reached, within two seconds.
 */
export interface MemoryStore {
  /** One sentence: where memories are kept. */
  readonly about: string;
  /** Stores a memory; `false` where a live one has the key. Of several at the same time exactly one succeeds. */
  put(memory: NewMemory): Promise<boolean>;
  /**
   * For a store in the host's own database: an `insert … returning id` that stores those of some memories whose `id` the relation
   * `held` has, as `put` does. It becomes a part of the host's statement, behind so many parameters of it.
   */
  insertReserved?(memories: readonly NewMemory[], parametersBefore: number): SqlStatement;
  get(key: string): Promise<StoredMemory | null>;
  /** `false` where there is none. */
  delete(key: string): Promise<boolean>;
  /** Newest first: by `created_at`, then by `id`, both descending. */
  list(filter: MemoryFilter, page: { limit: number; offset: number }): Promise<{ items: StoredMemory[]; total: number }>;
  /** The `limit` closest to a vector, closest first. Memories without a vector are never among them. */
  nearest(vector: readonly number[], filter: MemoryFilter, limit: number): Promise<MemoryHit[]>;
  /** The `limit` that match the words best, best first. English: other forms of a word match, stop words do not count. */
  match(query: TextQuery, filter: MemoryFilter, limit: number): Promise<MemoryHit[]>;
  /** Memories that wait for their vector, oldest first. */
  unembedded(limit: number): Promise<{ id: string; content: string }[]>;
  /** Gives memories their vectors; those that are gone are passed over. */
  embed(entries: readonly { id: string; embedding: readonly number[] }[]): Promise<void>;
  /** Takes all vectors away, because another model makes them from now on. */
  clearVectors(): Promise<void>;
  /** Removes what has expired; answers how many. */
  sweep(): Promise<number>;
  /** Rejects while the store cannot be reached. */
  check(): Promise<void>;
}

export type DistanceMetric = "cosine" | "l2" | "ip";

/** What the host knows about vectors: the capability `vectors`. */
export interface VectorSettings {
  /** Length of every vector. */
  readonly dimension: number;
  readonly metric: DistanceMetric;
  /** Name of the model that makes them; vectors of another one are of no use. */
  readonly model: string;
  /** SQL type of the columns named `embedding`, for casts: `vector(1536)`. */
  readonly type: string;
  /** pgvector's operator of the metric. */
  readonly operator: "<=>" | "<->" | "<#>";
}

/** SQL with `$1`, `$2` … */
export interface SqlStatement {
  readonly text: string;
  readonly parameters: readonly Json[];
}
export type SqlRow = Record<string, Json>;

/** The host's database: the capability `sql`. For built-in plugins only. */
export interface SqlAccess {
  query<Row = SqlRow>(statement: SqlStatement): Promise<Row[]>;
  /** The rows of a table whose vectors are closest, closest first, each with its `distance`. */
  nearest<Row = SqlRow>(query: VectorQuery): Promise<Row[]>;
}

/** A search in the column `embedding` of a table, which also has an `id`. */
export interface VectorQuery {
  readonly table: string;
  /** Columns of the answer, as SQL. */
  readonly columns: string;
  readonly vector: readonly number[];
  readonly limit: number;
  /** Conditions of which a row must fulfil one, each such that an index of the table answers it; every row where absent. */
  readonly anyOf?: readonly string[];
  /** A condition that every row must fulfil. */
  readonly condition?: string;
  /** What `$1`, `$2` … stand for in the conditions. */
  readonly parameters: readonly Json[];
  /** A select from `found`, which has the columns and the `distance`, in place of all of it in order. */
  readonly answer?: string;
}

export type RedisReply = null | number | string | readonly RedisReply[];

/** The host's Redis: the capability `redis`. Every key that is named must begin with `prefix`. */
export interface RedisAccess {
  readonly prefix: string;
  /** One command. Throws a `PluginError` `unavailable` at once while Redis is down, and after a second without an answer. */
  call(command: string, ...args: readonly (string | number)[]): Promise<RedisReply>;
  /** Runs a Lua script, which is sent once. */
  script(source: string, keys: readonly string[], args: readonly (string | number)[]): Promise<RedisReply>;
}
