import type { Queryable } from "../platform/database/client.ts";

/** Records a batch of the listing; returns how many of its pages are new to this job. */
export async function notePages(
  sql: Queryable,
  source: string,
  job: string,
  pages: readonly { id: string; revision: string }[],
): Promise<number> {
  const rows = await sql`
    insert into knowledge_pages as p (knowledge_source_id, page_id, listed_revision, listed_by)
    select distinct on (e.id) ${source}::uuid, e.id, e.revision, ${job}::uuid
    from jsonb_to_recordset(${JSON.stringify(pages)}::text::jsonb) e (id text, revision text) order by e.id
    on conflict (knowledge_source_id, page_id) do update
      set listed_revision = excluded.listed_revision, listed_by = excluded.listed_by
      where p.listed_by <> excluded.listed_by
    returning 1`;
  return rows.length;
}

/** Pages whose indexed revision differs from the server's. */
export const waitingPages = (
  sql: Queryable,
  source: string,
  but: readonly string[],
  limit: number,
): Promise<{ page_id: string }[]> =>
  sql<{ page_id: string }[]>`
    select page_id from knowledge_pages where knowledge_source_id = ${source} and revision is distinct from listed_revision
      and page_id <> all(${[...but]}::text[])
    order by page_id limit ${limit}`;

/** Indexed pages missing from a complete listing. */
export const unlistedPages = (
  sql: Queryable,
  source: string,
  job: string,
  but: readonly string[],
  limit: number,
): Promise<{ page_id: string }[]> =>
  sql<{ page_id: string }[]>`
    select page_id from knowledge_pages where knowledge_source_id = ${source} and listed_by <> ${job}
      and page_id <> all(${[...but]}::text[])
    order by page_id limit ${limit}`;

/** Records the revisions of pages now in the index. */
export const storeRevisions = async (
  sql: Queryable,
  source: string,
  job: string,
  pages: readonly { id: string; revision: string }[],
): Promise<void> =>
  void (await sql`
    insert into knowledge_pages (knowledge_source_id, page_id, revision, listed_revision, listed_by)
    select ${source}::uuid, e.id, e.revision, e.revision, ${job}::uuid
    from jsonb_to_recordset(${JSON.stringify(pages.map(({ id, revision }) => ({ id, revision })))}::text::jsonb) e (id text, revision text)
    on conflict (knowledge_source_id, page_id) do update
      set revision = excluded.revision, listed_revision = excluded.listed_revision, listed_by = excluded.listed_by`);

/** Removes pages with their chunks. */
export async function deletePages(sql: Queryable, source: string, ids: readonly string[]): Promise<number> {
  return (await sql`delete from knowledge_pages where knowledge_source_id = ${source} and page_id = any(${[...ids]}::text[])`)
    .count;
}

export interface StoredChunk {
  readonly id: string;
  readonly page_id: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly chunk_index: number;
}

export const chunksOf = (sql: Queryable, source: string, pages: readonly string[]): Promise<StoredChunk[]> =>
  sql<StoredChunk[]>`
    select id, page_id, content, metadata, chunk_index from document_chunks
    where knowledge_source_id = ${source} and page_id = any(${[...pages]}::text[]) order by page_id, chunk_index`;

export interface ChunkChange {
  readonly addedChunks: readonly StoredChunk[];
  /** The same text at another position: it keeps its vector. */
  readonly movedChunks: readonly Pick<StoredChunk, "id" | "metadata" | "chunk_index">[];
  readonly deletedIds: readonly string[];
}

/** Chunks per statement: full-text indexing of thousands at once would delay webhooks. */
const maxBatch = 250;

export async function changeChunks(
  sql: Queryable,
  source: string,
  { addedChunks, movedChunks, deletedIds }: ChunkChange,
): Promise<void> {
  if (deletedIds.length > 0) await sql`delete from document_chunks where id = any(${[...deletedIds]}::uuid[])`;
  if (movedChunks.length > 0)
    await sql`
      update document_chunks c set metadata = e.metadata, chunk_index = e.chunk_index
      from jsonb_to_recordset(${JSON.stringify(movedChunks)}::text::jsonb) e (id uuid, metadata jsonb, chunk_index int) where c.id = e.id`;
  for (let i = 0; i < addedChunks.length; i += maxBatch)
    await sql`
      insert into document_chunks (id, knowledge_source_id, page_id, content, metadata, chunk_index)
      select e.id, ${source}::uuid, e.page_id, e.content, e.metadata, e.chunk_index
      from jsonb_to_recordset(${JSON.stringify(addedChunks.slice(i, i + maxBatch))}::text::jsonb)
        e (id uuid, page_id text, content text, metadata jsonb, chunk_index int)`;
}
