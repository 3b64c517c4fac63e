import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type CallContext, type KnowledgeConnector, type KnowledgePage, PluginError, plainLine } from "@signalbox/sdk";
import { abortable } from "../platform/abortable.ts";
import type { Queryable, Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { storable, storableText } from "../platform/json.ts";
import { cleanText } from "../untrusted/clean.ts";
import { chunkMarkdown } from "./chunk.ts";
import { advanceJob, type ClaimedJob, type JobChange } from "./job-queries.ts";
import {
  type ChunkChange,
  changeChunks,
  chunksOf,
  deletePages,
  notePages,
  type StoredChunk,
  storeRevisions,
  unlistedPages,
  waitingPages,
} from "./page-queries.ts";
import { holdSource } from "./queries.ts";

export interface IngestDeps {
  readonly sql: Sql;
  /** Called when chunks wait for their vectors. */
  readonly onChunksAdded: () => void;
}

export interface OpenSource {
  readonly knowledge: KnowledgeConnector;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Another replica took the job, the job restarted, or its source was deleted. */
export class LostJob extends Error {
  override readonly name = "LostJob";
}

/** Number of pages that are read, split and written in one batch. */
const portion = 25;
/** Deadline of one connector call, milliseconds. */
const callMs = 120_000;

/**
 * Synchronises the index of one source: lists its pages, reads changed ones, removes deleted ones. Each batch is written in one
 * transaction with the job's progress, so after a crash another replica resumes after it. Returns the pages that could not be
 * read, with the reason; the next sync tries them again.
 */
export async function ingest(job: ClaimedJob, { knowledge, settings }: OpenSource, signal: AbortSignal, deps: IngestDeps) {
  const ask = async <T>(run: (call: CallContext) => Promise<T>): Promise<T> => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(callMs)]);
    within.throwIfAborted();
    return abortable(run({ connection: settings, key: `knowledge-${job.id}`, signal: within }), within);
  };
  const read = async (ids: readonly string[]) => checkedPages(await ask((call) => knowledge.read(ids, call)), ids);
  if (!job.listed) await listAll(job, (cursor) => ask((call) => knowledge.list({ cursor }, call)), deps);
  const progress: IngestProgress = { job, read, failedPages: new Map(), answered: false, failure: null };
  await readWaiting(progress, deps);
  await removeUnlisted(progress, deps);
  if (progress.failure && !progress.answered) throw progress.failure;
  return progress.failedPages;
}

type Read = (ids: readonly string[]) => Promise<KnowledgePage[]>;

/** Progress of a job since it was claimed. */
interface IngestProgress {
  readonly job: ClaimedJob;
  readonly read: Read;
  /** Pages that could not be read, with the reason. */
  readonly failedPages: Map<string, string>;
  /** At least one page was read or found deleted: the server is working. */
  answered: boolean;
  /** Pages of a batch in which no page could be read. */
  failure: Error | null;
}

async function listAll(
  job: ClaimedJob,
  list: (cursor: string | null) => ReturnType<KnowledgeConnector["list"]>,
  deps: IngestDeps,
) {
  let { cursor } = job;
  const forward = goesForward();
  for (let listed = false; !listed; ) {
    const next = await list(cursor);
    cursor = next.cursor;
    listed = cursor === null;
    const pages = next.pages.map(({ id, revision }) => ({ id: storableText(id), revision: storableText(revision) }));
    if (!forward(cursor, pages)) throw new PluginError("failed", "The listing loops: it returns the same pages again and again.");
    await advance(job, deps.sql, async (tx) => ({
      pagesSeen: await notePages(tx, job.knowledge_source_id, job.id, pages),
      cursor,
      listed,
    }));
  }
}

/** Consecutive batches without a new page: some spaces may be empty, but not this many. */
const maxIdleBatches = 250;

/** Detects a listing that never ends. */
function goesForward(): (cursor: string | null, pages: readonly { readonly id: string }[]) => boolean {
  const cursors = new Set<string>();
  const listed = new Set<string>();
  let idleBatches = 0;
  return (cursor, pages) => {
    const before = listed.size;
    for (const { id } of pages) listed.add(id);
    idleBatches = listed.size > before ? 0 : idleBatches + 1;
    if (cursor === null) return true;
    const known = cursors.has(cursor);
    cursors.add(cursor);
    return !known && idleBatches < maxIdleBatches;
  };
}

async function readWaiting(reading: IngestProgress, deps: IngestDeps): Promise<void> {
  const { job, failedPages } = reading;
  for (;;) {
    const rows = await waitingPages(deps.sql, job.knowledge_source_id, [...failedPages.keys()], portion);
    if (rows.length === 0) return;
    await readPortion(reading, rows, deps);
  }
}

/** A deletion during the listing may shift a page into an earlier batch; only a page that the server does not find is deleted. */
async function removeUnlisted(reading: IngestProgress, deps: IngestDeps): Promise<void> {
  const { job, failedPages } = reading;
  for (;;) {
    const rows = await unlistedPages(deps.sql, job.knowledge_source_id, job.id, [...failedPages.keys()], portion);
    if (rows.length === 0) return;
    await readPortion(reading, rows, deps);
  }
}

/** Synchronises some pages; those that no longer exist leave the index. */
async function readPortion(progress: IngestProgress, rows: readonly { page_id: string }[], deps: IngestDeps): Promise<void> {
  const ids = rows.map(({ page_id }) => page_id);
  const pages = await readOrOneByOne(progress, ids);
  const foundIds = new Set(pages.map(({ id }) => id));
  const deletedIds = ids.filter((id) => !foundIds.has(id) && !progress.failedPages.has(id));
  // An empty batch is not progress and must not reset the failure count.
  if (pages.length > 0 || deletedIds.length > 0) await store(progress.job, pages, deletedIds, deps);
}

/** After two failures of a batch, reads its pages one by one, so a broken page does not block the others. */
async function readOrOneByOne(progress: IngestProgress, ids: readonly string[]): Promise<KnowledgePage[]> {
  const { job, read, failedPages } = progress;
  let failure: Error;
  try {
    const pages = await read(ids);
    progress.answered = true;
    return pages;
  } catch (error) {
    if (job.attempts < 2 || !isOfOnePage(error)) throw error;
    failure = error as Error;
  }
  const [first = "", ...others] = ids;
  if (others.length === 0) failedPages.set(first, failure.message);
  const pages: KnowledgePage[] = [];
  let answers = 0;
  for (const id of others.length === 0 ? [] : ids) {
    try {
      pages.push(...(await read([id])));
      answers += 1;
    } catch (error) {
      if (!isOfOnePage(error)) throw error;
      failedPages.set(id, (error as Error).message);
    }
  }
  // So many failures are not the pages' fault. If there are only a few pages, this is decided after others have been read.
  if (answers === 0 && ids.length >= portion) throw failure;
  if (answers === 0) progress.failure = failure;
  else progress.answered = true;
  return pages;
}

const isOfOnePage = (error: unknown): boolean =>
  ["unavailable", "timeout", "failed", "invalid_input", "conflict"].includes(String((error as { code?: unknown } | null)?.code));

async function store(job: ClaimedJob, pages: KnowledgePage[], deletedIds: readonly string[], deps: IngestDeps): Promise<void> {
  const source = job.knowledge_source_id;
  const ids = pages.map(({ id }) => id);
  const before = Map.groupBy(await chunksOf(deps.sql, source, ids), ({ page_id }) => page_id);
  const changes: ChunkChange[] = [];
  for (const page of pages) {
    changes.push(changeOf(page, before.get(page.id) ?? []));
    // Pages may be long, and this process also answers webhooks.
    await nextTurn();
  }
  const change: ChunkChange = {
    addedChunks: changes.flatMap(({ addedChunks }) => addedChunks),
    movedChunks: changes.flatMap(({ movedChunks }) => movedChunks),
    deletedIds: changes.flatMap((one) => one.deletedIds),
  };
  await advance(job, deps.sql, async (tx) => {
    await storeRevisions(tx, source, job.id, pages);
    await changeChunks(tx, source, change);
    const count = deletedIds.length === 0 ? 0 : await deletePages(tx, source, deletedIds);
    return { pagesChanged: pages.length, pagesDeleted: count, chunks: change.addedChunks.length };
  });
  if (change.addedChunks.length > 0) deps.onChunksAdded();
}

/**
 * The chunks of a page. The page is cleaned as a whole, because what its readers do not see can span several chunks. Unchanged chunks
 * keep their rows, and therefore their vectors.
 */
export function changeOf(page: KnowledgePage, storedChunks: readonly StoredChunk[]): ChunkChange {
  const chunksByContent = Map.groupBy(storedChunks, ({ content }) => content);
  const addedChunks: StoredChunk[] = [];
  const movedChunks: ChunkChange["movedChunks"][number][] = [];
  const { title, space, url, author, edited_at } = page;
  const about = { space, url, ...(author && { author }), ...(edited_at && { edited_at }) };
  for (const [chunk_index, { heading_path, text }] of chunkMarkdown(cleanText(page.body)).entries()) {
    // Many pages start with their title as a heading.
    const headings = heading_path[0] === oneLine(title) ? heading_path.slice(1) : heading_path;
    const content = [[plainLine(title), ...headings].filter((part) => part !== "").join(" › "), text].join("\n\n").trimStart();
    const metadata = { ...about, title, heading_path: headings };
    const old = chunksByContent.get(content)?.shift();
    if (!old) addedChunks.push({ id: newId(), page_id: page.id, content, metadata, chunk_index });
    else if (old.chunk_index !== chunk_index || !isDeepStrictEqual(old.metadata, metadata))
      movedChunks.push({ id: old.id, metadata, chunk_index });
  }
  return { addedChunks, movedChunks, deletedIds: [...chunksByContent.values()].flat().map(({ id }) => id) };
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

/** Runs a step in one transaction with the job's progress. Throws `LostJob` if this replica no longer holds the job. */
async function advance(job: ClaimedJob, sql: Sql, step: (tx: Queryable) => Promise<JobChange>): Promise<void> {
  await sql.begin(async (tx) => {
    if (!(await holdSource(tx, job.knowledge_source_id))) throw new LostJob("the source was deleted");
    if (!(await advanceJob(tx, job, await step(tx)))) throw new LostJob("another replica took the job");
  });
}

/** A duplicate or unrequested page would corrupt the index, and the database refuses some characters. */
function checkedPages(pages: readonly KnowledgePage[], requestedIds: readonly string[]): KnowledgePage[] {
  const left = new Set(requestedIds);
  return pages.filter(({ id }) => left.delete(id)).map(({ body, ...page }) => ({ ...storable(page), body: storableText(body) }));
}
