import type { TextQuery, VectorSettings } from "@signalbox/sdk";
import { toSql } from "pgvector";
import type { Queryable } from "../platform/database/client.ts";
import type { FindNearest } from "../platform/database/nearest.ts";

export interface Chunk {
  readonly id: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly chunk_index: number;
  readonly source: string;
  readonly project_id: number | null;
  readonly created_at: string;
  readonly distance: number | null;
  readonly rank?: number;
}
/** Selects chunks: all, or those of some or any projects, plus those without a project if `shared`. */
export type ChunkFilter =
  | { readonly projects: "all" }
  | { readonly projects: "any" | readonly number[]; readonly shared: boolean };

function ofSources(sql: Queryable, filter: ChunkFilter) {
  if (filter.projects === "all") return sql`true`;
  const ofProjects =
    filter.projects === "any" ? sql`project_id is not null` : sql`project_id = any(${[...filter.projects]}::int[])`;
  return sql`c.knowledge_source_id = any(array(select id from knowledge_sources where ${ofProjects} or (${filter.shared} and project_id is null)))`;
}

/** The same condition as `ofSources`, for a statement that another module composes. */
function sourcesOf(filter: Exclude<ChunkFilter, { projects: "all" }>) {
  const ofProjects = filter.projects === "any" ? "project_id is not null" : "project_id = any(string_to_array($1, ',')::int[])";
  const either = filter.shared ? `(${ofProjects} or project_id is null)` : ofProjects;
  return {
    anyOf: [`knowledge_source_id = any(array(select id from knowledge_sources where ${either}))`],
    parameters: filter.projects === "any" ? [] : [filter.projects.join(",")],
  };
}

export const nearestChunks = (
  nearest: FindNearest,
  vector: readonly number[],
  filter: ChunkFilter,
  limit: number,
): Promise<Chunk[]> =>
  nearest<Chunk>({
    table: "document_chunks",
    columns: "id, knowledge_source_id, content, metadata, chunk_index, created_at",
    vector,
    limit,
    ...(filter.projects === "all" ? { parameters: [] } : sourcesOf(filter)),
    answer: `select f.id, f.content, f.metadata, f.chunk_index, f.created_at, f.distance, s.name as source, s.project_id
      from found f join knowledge_sources s on s.id = f.knowledge_source_id order by f.distance, f.id`,
  });

/** Maximum number of chunks that are ranked for a query of common words. */
const maxRanked = 1000;

export function matchChunks(
  sql: Queryable,
  query: TextQuery,
  filter: ChunkFilter,
  limit: number,
  vectors: VectorSettings,
): Promise<Chunk[]> {
  const all = query.words === "all";
  const distance = query.vector
    ? sql`c.embedding ${sql.unsafe(vectors.operator)} ${toSql([...query.vector])}::${sql.unsafe(vectors.type)}`
    : sql`null::float8`;
  const candidates = (wanted: string) => sql`
    (select c.id from document_chunks c where c.words @@ (select ${sql(wanted)} from q) and ${ofSources(sql, filter)} limit ${maxRanked})`;
  const rank = all
    ? sql`ts_rank_cd(c.words, q.strict, 33)::float8`
    : sql`(c.words @@ q.strict)::int * 0.5 + ts_rank_cd(c.words, q.loose, 33)::float8 / 2`;
  return sql<Chunk[]>`
    with q as materialized (
      select ${sql.unsafe(all ? "websearch_to_tsquery" : "plainto_tsquery")}('english', ${query.text}) as strict,
        (select coalesce(string_agg(quote_literal(lexeme), ' | '), '')::tsquery from unnest(to_tsvector('english', ${query.text}))) as loose)
    select c.id, c.content, c.metadata, c.chunk_index, c.created_at, s.name as source, s.project_id, ${rank} as rank, ${distance} as distance
    from (${all ? candidates("strict") : sql`${candidates("strict")} union ${candidates("loose")}`}) candidates
      join document_chunks c using (id) join knowledge_sources s on s.id = c.knowledge_source_id, q
    order by rank desc, c.id limit ${limit}`;
}

export const listUnembeddedChunks = (sql: Queryable, limit: number): Promise<{ id: string; content: string }[]> =>
  sql<
    { id: string; content: string }[]
  >`select id, content from document_chunks where embedding is null order by created_at, id limit ${limit}`;

export const embedChunks = async (
  sql: Queryable,
  entries: readonly { id: string; embedding: readonly number[] }[],
  vectors: VectorSettings,
): Promise<void> =>
  void (await sql`
    update document_chunks c set embedding = e.vector::${sql.unsafe(vectors.type)}
    from jsonb_to_recordset(${JSON.stringify(entries.map(({ id, embedding }) => ({ id, vector: toSql([...embedding]) })))}::text::jsonb)
      e (id uuid, vector text) where c.id = e.id`);
