import type { Json, MemoryFilter, NewMemory, Statement, Vectors, WordQuery } from "@signalbox/sdk";

/** Numbers parameters as they are used: `$1`, `$2` … */
class Parameters {
  readonly values: Json[] = [];
  add(value: Json): string {
    return `$${this.values.push(value)}`;
  }
}

const columns = "id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at";
const alive = "(expires_at is null or expires_at > now())";

/** pgvector's text form. */
export const vectorText = (vector: readonly number[]): string => `[${vector.join(",")}]`;

/** What only a filter on plain columns gives: the planner knows how few rows are left, and chooses the index by it. */
function where(filter: MemoryFilter, parameters: Parameters): string {
  if (filter.length === 0) return "false";
  const alternatives = filter.map((match) => {
    const parts = (["scope", "agent_id", "project_id", "task_id"] as const).flatMap((column) => {
      const value = match[column];
      if (value === undefined) return [];
      return value === null ? [`${column} is null`] : [`${column} = ${parameters.add(value)}`];
    });
    return parts.length === 0 ? "true" : `(${parts.join(" and ")})`;
  });
  return alternatives.includes("true") ? "true" : `(${alternatives.join(" or ")})`;
}

/** One row where it was stored; an expired memory of the same key makes way. */
export function insertMemory(memory: NewMemory, vectors: Vectors): Statement {
  const p = new Parameters();
  const { id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at } = memory;
  const values = [id, key, content, scope, agent_id, project_id, task_id, created_at, updated_at].map((value) => p.add(value));
  const expires = memory.ttl_ms === null ? "null" : `now() + ${p.add(memory.ttl_ms)}::bigint * interval '1 millisecond'`;
  const embedding = memory.embedding === null ? "null" : `${p.add(vectorText(memory.embedding))}::${vectors.type}`;
  return {
    text: `insert into memories (${columns}, expires_at, embedding) values (${values.join(", ")}, ${expires}, ${embedding})
      on conflict (key) do update set (${columns}, expires_at, embedding) = row(excluded.id, excluded.key, excluded.content, excluded.scope,
        excluded.agent_id, excluded.project_id, excluded.task_id, excluded.created_at, excluded.updated_at, excluded.expires_at, excluded.embedding)
      where memories.expires_at <= now() returning id`,
    parameters: p.values,
  };
}

export const findMemory = (key: string): Statement => ({
  text: `select ${columns} from memories where key = $1 and ${alive}`,
  parameters: [key],
});

export const deleteMemory = (key: string): Statement => ({
  text: `delete from memories where key = $1 returning ${alive} as alive`,
  parameters: [key],
});

export function listMemories(filter: MemoryFilter, page: { limit: number; offset: number }): Statement {
  const p = new Parameters();
  const condition = where(filter, p);
  return {
    text: `select ${columns} from memories where ${condition} and ${alive}
      order by created_at desc, id desc limit ${p.add(page.limit)}::int offset ${p.add(page.offset)}::int`,
    parameters: p.values,
  };
}

export function countMemories(filter: MemoryFilter): Statement {
  const p = new Parameters();
  return { text: `select count(*) as total from memories where ${where(filter, p)} and ${alive}`, parameters: p.values };
}

/** Iterative scans give rows slightly out of order, so they are put in order outside. */
export function nearestMemories(vector: readonly number[], filter: MemoryFilter, limit: number, vectors: Vectors): Statement {
  const p = new Parameters();
  const distance = `embedding ${vectors.operator} ${p.add(vectorText(vector))}::${vectors.type}`;
  return {
    text: `with found as materialized (
        select ${columns}, ${distance} as distance from memories where ${where(filter, p)} and ${alive} and embedding is not null
        order by ${distance} limit ${p.add(limit)}::int)
      select * from found order by distance, id`,
    parameters: p.values,
  };
}

/** Most rows that are ranked for one query of common words. */
const mostRanked = 1000;

/** Ranks are 0 to 1 and weigh long texts down (1 | 32); among free text, rows that have every word stand before the others. */
export function matchMemories(query: WordQuery, filter: MemoryFilter, limit: number, vectors: Vectors): Statement {
  const p = new Parameters();
  const text = p.add(query.text);
  const condition = `${where(filter, p)} and ${alive}`;
  const distance = query.vector
    ? `embedding ${vectors.operator} ${p.add(vectorText(query.vector))}::${vectors.type}`
    : "null::float8";
  const those = (wanted: string) =>
    `(select id from memories where words @@ (select ${wanted} from q) and ${condition} limit ${mostRanked})`;
  const all = query.words === "all";
  return {
    text: `with q as materialized (
        select websearch_to_tsquery('english', ${text}) as strict,
          (select coalesce(string_agg(quote_literal(lexeme), ' | '), '')::tsquery from unnest(to_tsvector('english', ${text}))) as loose)
      select ${columns}, ${all ? "ts_rank_cd(words, q.strict, 33)::float8" : "(words @@ q.strict)::int * 0.5 + ts_rank_cd(words, q.loose, 33)::float8 / 2"} as rank,
        ${distance} as distance
      from (${all ? those("strict") : `${those("strict")} union ${those("loose")}`}) candidates join memories using (id), q
      order by rank desc, created_at desc, id desc limit ${p.add(limit)}::int`,
    parameters: p.values,
  };
}

export const listUnembedded = (limit: number): Statement => ({
  text: `select id, content from memories where embedding is null and ${alive} order by created_at, id limit $1::int`,
  parameters: [limit],
});

export const embedMemories = (entries: readonly { id: string; embedding: readonly number[] }[], vectors: Vectors): Statement => ({
  text: `update memories m set embedding = e.vector::${vectors.type}
    from jsonb_to_recordset($1::text::jsonb) e (id uuid, vector text) where m.id = e.id`,
  parameters: [JSON.stringify(entries.map(({ id, embedding }) => ({ id, vector: vectorText(embedding) })))],
});

export const forgetVectors: Statement = {
  text: "update memories set embedding = null where embedding is not null",
  parameters: [],
};

export const sweepMemories: Statement = {
  text: "delete from memories where id in (select id from memories where expires_at <= now() limit 1000 for update skip locked) returning id",
  parameters: [],
};

export const probe: Statement = { text: "select 1 from memories limit 1", parameters: [] };
