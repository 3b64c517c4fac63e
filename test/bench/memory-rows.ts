import type { Sql } from "postgres";
import { hashEmbedding } from "../../runtime/memory/local-embedding.ts";

export const dimension = 1536;
/** Numbers of agents and projects: a filter by one agent selects 10 % of the rows, by one project 1 %, and by both 0.1 %. */
export const agents = 10;
export const projects = 100;

export interface Row {
  readonly key: string;
  readonly content: string;
  readonly agent_id: string;
  readonly project_id: number;
}

/** The same numbers in every run: mulberry32. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const syllables = "ka lo mi ren tas vo du phi ler gan sto bri nox quel mar ti zu hop fen dra".split(" ");
const wordOf = (n: number): string => {
  let word = "";
  for (let rest = n + 400; rest > 0; rest = Math.floor(rest / syllables.length)) word += syllables[rest % syllables.length];
  return word;
};

/** A text about one of 500 subjects, from the subject's words and common words. */
export function textAbout(subject: number, length: number, random: () => number): string {
  const words = Array.from({ length }, () => {
    if (random() < 0.3) return wordOf(Math.floor(random() ** 2 * 2000));
    return wordOf(2000 + subject * 40 + Math.floor(random() ** 2 * 40));
  });
  return words.join(" ");
}
export const subjects = 500;

export function rowOf(n: number, random: () => number): Row {
  const content = textAbout(Math.floor(random() * subjects), 25 + Math.floor(random() * 30), random);
  const agent_id = `agent_${Math.floor(random() * agents)}`;
  return { key: `row-${n}`, content, agent_id, project_id: 1 + Math.floor(random() * projects) };
}

/** pgvector's text form. */
export const vectorText = (text: string): string =>
  `[${hashEmbedding(text, dimension)
    .map((value) => (value === 0 ? "0" : String(Math.fround(value))))
    .join(",")}]`;

const index = "memories_embedding_hnsw_cosine";

/**
 * Adds rows up to `count`. Drops the index meanwhile, which takes a tenth of the time, and creates it again in the service's
 * form.
 */
export async function fill(sql: Sql, from: number, count: number): Promise<void> {
  const random = randomOf(from + 1);
  const [made] = await sql<[{ as: string }]>`select pg_get_indexdef(${index}::regclass) as as`;
  await sql`drop index ${sql(index)}`;
  const batch = 250;
  for (let start = from; start < count; start += batch) {
    const rows = Array.from({ length: Math.min(batch, count - start) }, (_, i) => rowOf(start + i, random));
    const full = rows.map((row) => ({ ...row, vector: vectorText(row.content) }));
    await sql`
      with given as materialized (select gen_random_uuid() as id, e.* from jsonb_to_recordset(${JSON.stringify(full)}::text::jsonb)
        e (key text, content text, agent_id text, project_id int, vector text)),
      keys as (insert into memory_keys (key, id, store) select key, id, 'pgvector' from given)
      insert into memories (id, key, content, scope, agent_id, project_id, embedding)
      select id, key, content, 'agent', agent_id, project_id, vector::vector from given`;
  }
  await sql.begin(async (tx) => {
    await tx`set local maintenance_work_mem = '2GB'`;
    await tx.unsafe(made.as);
  });
  await sql`vacuum analyze memories`;
}
