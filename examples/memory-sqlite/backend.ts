import {
  type MemoryFilter,
  type MemoryHit,
  type MemoryStore,
  type StoredMemory,
  similarityFromDistance,
  type VectorSettings,
  vectorDistance,
} from "@signalbox/sdk";
import type { File } from "./file.ts";
import { allWords, anyWord } from "./words.ts";

const columns = "id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at";
const notExpired = "(expires_at is null or expires_at > ?)";
type Value = string | number;
type Row = StoredMemory & { embedding: Uint8Array | null };

/** SQLite calls are synchronous, so concurrent calls never see each other's partial results. */
export function sqliteBackend(file: File, vectors: VectorSettings): MemoryStore {
  const closeness = (query: readonly number[], stored: Uint8Array | null): number | null =>
    stored === null || query.length !== vectors.dimension ? null : vectorDistance(vectors.metric, query, floatsOf(stored));
  return {
    about: "One SQLite file.",
    put: async (memory) => {
      const now = Date.now();
      const { id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at } = memory;
      const vector = memory.embedding === null ? null : bytesOf(memory.embedding, vectors.dimension);
      const expires = memory.ttl_ms === null ? null : now + memory.ttl_ms;
      return file.transaction(() => {
        file.run("delete from memories where key = ? and expires_at <= ?", key, now);
        const values = [id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at, expires, vector];
        const marks = values.map(() => "?").join(", ");
        return (
          file.run(
            `insert into memories (${columns}, expires_at, embedding) values (${marks}) on conflict (key) do nothing`,
            ...values,
          ) > 0
        );
      });
    },
    get: async (key) =>
      file.all<StoredMemory>(`select ${columns} from memories where key = ? and ${notExpired}`, key, Date.now())[0] ?? null,
    delete: async (key) => file.run(`delete from memories where key = ? and ${notExpired}`, key, Date.now()) > 0,
    list: async (filter, { limit, offset }) => {
      const [condition, values] = conditionOf(filter);
      const order = "order by created_at desc, id desc limit ? offset ?";
      const items = file.all<StoredMemory>(
        `select ${columns} from memories where ${condition} ${order}`,
        ...values,
        limit,
        offset,
      );
      const [count] = file.all<{ total: number }>(`select count(*) as total from memories where ${condition}`, ...values);
      return { items, total: count?.total ?? 0 };
    },
    nearest: async (vector, filter, limit) => {
      const [condition, values] = conditionOf(filter);
      const found: { number: number; distance: number }[] = [];
      const rows = file.each<{ number: number; embedding: Uint8Array }>(
        `select number, embedding from memories where embedding is not null and ${condition}`,
        ...values,
      );
      for (const { number, embedding } of rows) {
        const distance = closeness(vector, embedding);
        if (distance !== null) found.push({ number, distance });
      }
      const best = found.sort((a, b) => a.distance - b.distance).slice(0, limit);
      return best.flatMap(({ number, distance }) =>
        file
          .all<StoredMemory>(`select ${columns} from memories where number = ?`, number)
          .map((memory): MemoryHit => ({ ...memory, similarity: similarityFromDistance(vectors.metric, distance), rank: null })),
      );
    },
    match: async (query, filter, limit) => {
      const strict = allWords(query.text, query.words);
      const wanted = query.words === "all" ? strict : anyWord(query.text);
      if (wanted === null) return [];
      const ranks = rankMatches(file, wanted, filter);
      const whole = query.words === "any" && strict !== null ? rankMatches(file, strict, filter) : new Map();
      const bonus = (number: number) => (whole.has(number) ? 0.5 : 0);
      const best = [...ranks]
        .map(([number, rank]) => ({ number, rank: query.words === "all" ? rank : bonus(number) + rank / 2 }))
        .sort((a, b) => b.rank - a.rank || b.number - a.number)
        .slice(0, limit);
      return best.flatMap(({ number, rank }) =>
        file
          .all<Row>(`select ${columns}, embedding from memories where number = ?`, number)
          .map(({ embedding, ...memory }): MemoryHit => {
            const distance = query.vector && closeness(query.vector, embedding);
            return { ...memory, rank, similarity: distance === null ? null : similarityFromDistance(vectors.metric, distance) };
          }),
      );
    },
    unembedded: async (limit) =>
      file.all(
        `select id, content from memories where embedding is null and ${notExpired} order by created_at, id limit ?`,
        Date.now(),
        limit,
      ),
    embed: async (entries) =>
      file.transaction(() => {
        for (const { id, embedding } of entries)
          file.run("update memories set embedding = ? where id = ?", bytesOf(embedding, vectors.dimension), id);
      }),
    clearVectors: async () => void file.run("update memories set embedding = null where embedding is not null"),
    sweep: async () =>
      file.run("delete from memories where number in (select number from memories where expires_at <= ? limit 1000)", Date.now()),
    check: async () => void file.all("select 1 from memories limit 1"),
  };
}

/** The SQL condition of a filter on memories that have not expired, with its values. */
function conditionOf(filter: MemoryFilter): [string, Value[]] {
  const values: Value[] = [];
  const alternatives = filter.map((match) => {
    const parts = (["scope", "agent_id", "project_id", "task_id"] as const).flatMap((column) => {
      const value = match[column];
      if (value === undefined) return [];
      if (value === null) return [`${column} is null`];
      values.push(value);
      return [`${column} = ?`];
    });
    return `(${parts.join(" and ") || "true"})`;
  });
  values.push(Date.now());
  return [`(${alternatives.join(" or ") || "false"}) and ${notExpired}`, values];
}

/** Rows by number that match an FTS5 query, with a rank above 0 and up to 1. */
function rankMatches(file: File, query: string, filter: MemoryFilter): Map<number, number> {
  const [condition, values] = conditionOf(filter);
  const rows = file.all<{ number: number; score: number }>(
    `select w.rowid as number, -bm25(words) as score from words w join memories m on m.number = w.rowid
      where words match ? and ${condition} order by score desc limit 1000`,
    query,
    ...values,
  );
  return new Map(rows.map(({ number, score }) => [number, score > 0 ? score / (1 + score) : Number.MIN_VALUE]));
}

function bytesOf(vector: readonly number[], dimension: number): Uint8Array {
  if (vector.length !== dimension) throw new RangeError(`The vector must have ${dimension} dimensions; it has ${vector.length}.`);
  return new Uint8Array(Float32Array.from(vector).buffer);
}

const floatsOf = (bytes: Uint8Array): Float32Array =>
  // A copy, because the bytes of a row may not be aligned to four bytes.
  new Float32Array(bytes.slice().buffer);
