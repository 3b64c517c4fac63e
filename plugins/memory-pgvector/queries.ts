import type {
  Json,
  MemoryFilter,
  MemoryMatch,
  NewMemory,
  SqlStatement,
  TextQuery,
  VectorQuery,
  VectorSettings,
} from "@signalbox/sdk";
import { toSql } from "pgvector";

/** Collects the parameters of a statement and numbers them: `$1`, `$2` … */
class Parameters {
  readonly values: Json[] = [];
  readonly #before: number;
  constructor(before = 0) {
    this.#before = before;
  }
  add(value: Json): string {
    return `$${this.#before + this.values.push(value)}`;
  }
}

const columns = "id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at";
const notExpired = "(expires_at is null or expires_at > now())";

/** Plain column conditions, so that the planner can estimate the rows and choose the index; `true` if all rows match. */
function condition(match: MemoryMatch, parameters: Parameters): string {
  const parts = (["scope", "agent_id", "project_id", "task_id"] as const).flatMap((column) => {
    const value = match[column];
    if (value === undefined) return [];
    return value === null ? [`${column} is null`] : [`${column} = ${parameters.add(value)}`];
  });
  return parts.length === 0 ? "true" : `(${parts.join(" and ")})`;
}

const isOpen = (match: MemoryMatch): boolean => Object.values(match).every((value) => value === undefined);

function conditionOf(filter: MemoryFilter, parameters: Parameters): string {
  if (filter.length === 0) return "false";
  if (filter.some(isOpen)) return "true";
  const tasks = filter.flatMap((match) => (isOnlyTask(match) ? match.task_id : []));
  // One condition for many tasks, as in an erasure: the planner takes much longer for one condition each.
  const ofTasks = tasks.length > 0 ? [`task_id in (${tasks.map((id) => parameters.add(id)).join(", ")})`] : [];
  const others = filter.filter((match) => !isOnlyTask(match)).map((match) => condition(match, parameters));
  return `(${[...ofTasks, ...others].join(" or ")})`;
}

const isOnlyTask = (match: MemoryMatch): match is { task_id: string } =>
  typeof match.task_id === "string" && Object.entries(match).every(([name, value]) => name === "task_id" || value === undefined);

const types = ["uuid", "text", "text", "text", "text", "int", "text", "timestamptz", "timestamptz"];

/** Inserts memories and returns the stored rows. Replaces an expired memory of the same key. `only` restricts which are stored. */
function insertMemories(memories: readonly NewMemory[], vectors: VectorSettings, p: Parameters, only = ""): SqlStatement {
  const rows = memories.map((memory) => {
    const { id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at, ttl_ms, embedding } = memory;
    const values = [id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at];
    const expires = `now() + ${p.add(ttl_ms)}::bigint * interval '1 millisecond'`;
    const vector = `${p.add(embedding && toSql([...embedding]))}::${vectors.type}`;
    return `(${values.map((value, i) => `${p.add(value)}::${types[i]}`).join(", ")}, ${expires}, ${vector})`;
  });
  return {
    text: `insert into memories (${columns}, expires_at, embedding)
      select * from (values ${rows.join(", ")}) given (${columns}, expires_at, embedding) ${only}
      on conflict (key) do update set (${columns}, expires_at, embedding) = row(excluded.id, excluded.key, excluded.content, excluded.scope,
        excluded.agent_id, excluded.project_id, excluded.task_id, excluded.created_at, excluded.updated_at, excluded.expires_at, excluded.embedding)
      where memories.expires_at <= now() returning id`,
    parameters: p.values,
  };
}

export const insertMemory = (memory: NewMemory, vectors: VectorSettings): SqlStatement =>
  insertMemories([memory], vectors, new Parameters());

export const insertReserved = (memories: readonly NewMemory[], vectors: VectorSettings, before: number): SqlStatement =>
  insertMemories(memories, vectors, new Parameters(before), "where id in (select id from held)");

export const findMemory = (key: string): SqlStatement => ({
  text: `select ${columns} from memories where key = $1 and ${notExpired}`,
  parameters: [key],
});

export const deleteMemory = (key: string): SqlStatement => ({
  text: `delete from memories where key = $1 returning ${notExpired} as alive`,
  parameters: [key],
});

export function listMemories(filter: MemoryFilter, page: { limit: number; offset: number }): SqlStatement {
  const p = new Parameters();
  return {
    text: `select ${columns} from memories where ${conditionOf(filter, p)} and ${notExpired}
      order by created_at desc, id desc limit ${p.add(page.limit)}::int offset ${p.add(page.offset)}::int`,
    parameters: p.values,
  };
}

export function countMemories(filter: MemoryFilter): SqlStatement {
  const p = new Parameters();
  return {
    text: `select count(*) as total from memories where ${conditionOf(filter, p)} and ${notExpired}`,
    parameters: p.values,
  };
}

export function nearestMemories(vector: readonly number[], filter: MemoryFilter, limit: number): VectorQuery {
  const p = new Parameters();
  const anyOf = filter.some(isOpen) ? {} : { anyOf: filter.map((match) => condition(match, p)) };
  return { table: "memories", columns, vector, limit, ...anyOf, condition: notExpired, parameters: p.values };
}

/** Most rows ranked for one query. */
const maxRanked = 1000;

/** Ranks are 0 to 1 and lower for long texts (1 | 32). For free text, rows with every word come before the others. */
export function matchMemories(query: TextQuery, filter: MemoryFilter, limit: number, vectors: VectorSettings): SqlStatement {
  const p = new Parameters();
  const text = p.add(query.text);
  const wanted = `${conditionOf(filter, p)} and ${notExpired}`;
  const distance = query.vector
    ? `embedding ${vectors.operator} ${p.add(toSql([...query.vector]))}::${vectors.type}`
    : "null::float8";
  const those = (words: string) =>
    `(select id from memories where words @@ (select ${words} from q) and ${wanted} limit ${maxRanked})`;
  // In free text a minus is a list bullet, not an operator.
  const all = query.words === "all";
  return {
    text: `with q as materialized (
        select ${all ? "websearch_to_tsquery" : "plainto_tsquery"}('english', ${text}) as strict,
          (select coalesce(string_agg(quote_literal(lexeme), ' | '), '')::tsquery from unnest(to_tsvector('english', ${text}))) as loose)
      select ${columns}, ${all ? "ts_rank_cd(words, q.strict, 33)::float8" : "(words @@ q.strict)::int * 0.5 + ts_rank_cd(words, q.loose, 33)::float8 / 2"} as rank,
        ${distance} as distance
      from (${all ? those("strict") : `${those("strict")} union ${those("loose")}`}) candidates join memories using (id), q
      order by rank desc, created_at desc, id desc limit ${p.add(limit)}::int`,
    parameters: p.values,
  };
}

export const listUnembedded = (limit: number): SqlStatement => ({
  text: `select id, content from memories where embedding is null and ${notExpired} order by created_at, id limit $1::int`,
  parameters: [limit],
});

export const embedMemories = (
  entries: readonly { id: string; embedding: readonly number[] }[],
  vectors: VectorSettings,
): SqlStatement => ({
  text: `update memories m set embedding = e.vector::${vectors.type}
    from jsonb_to_recordset($1::text::jsonb) e (id uuid, vector text) where m.id = e.id`,
  parameters: [JSON.stringify(entries.map(({ id, embedding }) => ({ id, vector: toSql([...embedding]) })))],
});

export const clearVectors: SqlStatement = {
  text: "update memories set embedding = null where embedding is not null",
  parameters: [],
};

export const sweepMemories: SqlStatement = {
  text: "delete from memories where id in (select id from memories where expires_at <= now() limit 1000 for update skip locked) returning id",
  parameters: [],
};

export const probe: SqlStatement = { text: "select 1 from memories limit 1", parameters: [] };
