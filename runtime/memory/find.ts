import { problem } from "@signalbox/schema/problem";
import {
  type MemoryFilter,
  type MemoryHit,
  type MemoryScope,
  type StoredMemory,
  similarityFromDistance,
  type TextQuery,
  type VectorSettings,
} from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { OpenVectors } from "../platform/database/vectors.ts";
import type { Log } from "../platform/log.ts";
import { Failure } from "../platform/retry.ts";
import { type Chunk, type ChunkFilter, matchChunks, nearestChunks } from "./chunk-queries.ts";
import type { Embedder } from "./embedder.ts";
import { type MemoryStores, type NamedStore, withStore } from "./stores.ts";

export interface FindDeps {
  readonly sql: Sql;
  readonly stores: MemoryStores;
  readonly embedder: Embedder;
  readonly vectors: OpenVectors;
  readonly log: Log;
  /** Whether any document chunks may exist. */
  readonly anyChunks: () => boolean;
}

/** A memory or document chunk found by a search. */
export interface SearchHit extends Omit<StoredMemory, "task_id" | "updated_at"> {
  /** Similarity from 0 to 1: by vector if there is one, else by words. */
  readonly similarity: number;
  /** Origin of the text, as shown in a prompt. */
  readonly source: string;
  /** What else is known of a document, as shown in a prompt. */
  readonly about?: Readonly<Record<string, string>>;
}

export interface Query {
  readonly text: string;
  readonly mode: "semantic" | "keyword" | "hybrid";
  readonly limit: number;
  readonly filter: MemoryFilter;
}

/** Best match first. Throws `bad_gateway` if the search needs a vector and the embedder is unavailable. */
export async function find(deps: FindDeps, query: Query): Promise<SearchHit[]> {
  const vector = await vectorOf(deps, query);
  const nearest = vector && query.mode !== "keyword" ? byVector(deps, query, vector) : null;
  const matched = query.mode === "semantic" ? null : byWords(deps, query, vector);
  const [close, worded] = await Promise.all([nearest, matched]);
  if (close && worded) return fuseRankings(close, worded, query.limit);
  return (close ?? worded ?? []).slice(0, query.limit);
}

async function vectorOf({ embedder, log }: FindDeps, query: Query): Promise<readonly number[] | null> {
  if (query.mode === "keyword" || (query.mode === "hybrid" && embedder.isBackingOff())) return null;
  try {
    return await embedder.embedQuery(query.text);
  } catch (error) {
    const reason = error instanceof Failure ? error.message : "The embedder failed.";
    if (query.mode === "semantic") {
      const hint = "Search with mode keyword or hybrid, or try again later.";
      throw problem("bad_gateway", `Failed to embed the query: ${reason} ${hint}`, { cause: error });
    }
    log.warn("embedding failed; searching by keyword only", { error: reason });
    return null;
  }
}

async function byVector(deps: FindDeps, { filter, limit }: Query, vector: readonly number[]): Promise<SearchHit[]> {
  const chunks = deps.anyChunks() ? chunkFilter(filter) : null;
  const [memories, documents] = await Promise.all([
    inStores(deps, filter, (store) => withStore(store, (backend) => backend.nearest(vector, filter, limit))),
    chunks ? nearestChunks(deps.vectors.nearest, vector, chunks, limit) : [],
  ]);
  return [...memories.map(memoryHit), ...documents.map((chunk) => chunkHit(chunk, deps.vectors))].sort(closest).slice(0, limit);
}

async function byWords(deps: FindDeps, query: Query, vector: readonly number[] | null): Promise<SearchHit[]> {
  const { filter, limit } = query;
  const words = { ...wordsOf(query), vector };
  const chunks = deps.anyChunks() ? chunkFilter(filter) : null;
  const [memories, documents] = await Promise.all([
    inStores(deps, filter, (store) => withStore(store, (backend) => backend.match(words, filter, limit))),
    chunks ? matchChunks(deps.sql, words, chunks, limit, deps.vectors) : [],
  ]);
  const rankedHits = [
    ...memories.map((memory) => ({ rank: memory.rank ?? 0, found: memoryHit(memory) })),
    ...documents.map((chunk) => ({ rank: chunk.rank ?? 0, found: chunkHit(chunk, deps.vectors) })),
  ];
  return rankedHits
    .sort((a, b) => b.rank - a.rank || (a.found.id < b.found.id ? 1 : -1))
    .slice(0, limit)
    .map(({ found }) => found);
}

/**
 * Maximum length of a text for a keyword search, in characters: PostgreSQL's query parser takes quadratic time and recurses once
 * per word.
 */
const maxWordsLength = 8_000;

/** A minus sign without a word after it excludes nothing; lists and rulers contain many. */
const idleMinus = /(?<![\p{L}\p{N}])(?:-{2,}|-(?=[\s!&|()]|$))/gu;

function wordsOf({ mode, text }: Query): Pick<TextQuery, "text" | "words"> {
  if (mode === "hybrid") return { words: "any", text: text.slice(0, maxWordsLength).toWellFormed() };
  if (text.length <= maxWordsLength) return { words: "all", text: text.replace(idleMinus, " ") };
  const limit = `query: must be at most ${maxWordsLength} characters in mode keyword; it has ${text.length}`;
  throw problem("bad_request", `${limit}. Use mode semantic or hybrid for longer queries.`);
}

/** Searches each store that may hold a match. An unavailable store is skipped unless it is the only one. */
async function inStores<T>(
  { stores, log }: Pick<FindDeps, "stores" | "log">,
  filter: MemoryFilter,
  ask: (store: NamedStore) => Promise<T[]>,
): Promise<T[]> {
  const short = filter.some((match) => match.scope === undefined || match.scope === "task");
  const onlyShort = filter.length > 0 && filter.every((match) => match.scope === "task");
  const searchedStores = stores.all.filter((store) => store === stores.longTerm || short);
  const results = await Promise.allSettled(searchedStores.map(ask));
  return results.flatMap((result, i) => {
    if (result.status === "fulfilled") return result.value;
    if (searchedStores[i] === stores.longTerm || onlyShort) throw result.reason;
    log.warn("short-term memories omitted from a search", { error: String(result.reason) });
    return [];
  });
}

const closest = (a: SearchHit, b: SearchHit): number => b.similarity - a.similarity || (a.id < b.id ? 1 : -1);

const sources: Readonly<Record<MemoryScope, string>> = {
  task: "this task",
  agent: "your own memory",
  project: "the project's memory",
  organizational: "the organisation's memory",
};

const memoryHit = ({ similarity, rank, task_id: _, updated_at: __, ...memory }: MemoryHit): SearchHit => ({
  ...memory,
  similarity: similarity ?? Math.min(1, Math.max(0, rank ?? 0)),
  source: `${sources[memory.scope]}, ${memory.key}`,
});

const optionalFact = (name: string, value: string | undefined) => (value ? { [name]: value } : {});

function chunkHit(chunk: Chunk, vectors: VectorSettings): SearchHit {
  const { id, content, project_id, created_at, metadata } = chunk;
  const text = (name: string) => (typeof metadata[name] === "string" ? (metadata[name] as string) : undefined);
  const place = text("url") ?? `${chunk.source}/${text("title") ?? id}`;
  return {
    id,
    content,
    project_id,
    created_at,
    agent_id: null,
    key: `${place}#chunk-${chunk.chunk_index}`,
    scope: project_id === null ? "organizational" : "project",
    similarity: chunk.distance === null ? Math.min(1, chunk.rank ?? 0) : similarityFromDistance(vectors.metric, chunk.distance),
    source: `document ${[text("title"), text("url")].filter(Boolean).join(", ") || place}`,
    about: { ...optionalFact("written by", text("author")), in: chunk.source, ...optionalFact("last edited", text("edited_at")) },
  };
}

/** Documents have neither agent nor task: they belong to the organisation, or to the project of their source. */
export function chunkFilter(filter: MemoryFilter): ChunkFilter | null {
  const open = filter.filter(
    (match) =>
      match.agent_id === undefined &&
      match.task_id === undefined &&
      (match.scope === undefined || match.scope === "project" || match.scope === "organizational"),
  );
  if (open.some((match) => match.scope === undefined && match.project_id === undefined)) return { projects: "all" };
  const projects = open.flatMap((match) =>
    match.scope !== "organizational" && typeof match.project_id === "number" ? [match.project_id] : [],
  );
  const shared = open.some((match) => match.scope === "organizational" && match.project_id === undefined);
  const anyProject = open.some((match) => match.scope === "project" && match.project_id === undefined);
  if (anyProject) return { projects: "any", shared };
  return projects.length > 0 || shared ? { projects, shared } : null;
}

/** Rank constant of Cormack, Clarke and Büttcher (SIGIR 2009): low ranks count for little. */
const rankConstant = 60;

/**
 * Reciprocal rank fusion: an entry ranked high in one list, or in both, ranks high in the result. Needs no comparable
 * scores.
 */
export function fuseRankings<T extends { readonly id: string }>(first: readonly T[], second: readonly T[], limit: number): T[] {
  const scores = new Map<string, { item: T; score: number }>();
  for (const ranking of [first, second]) {
    for (const [rank, item] of ranking.entries()) {
      const known = scores.get(item.id);
      scores.set(item.id, { item: known?.item ?? item, score: (known?.score ?? 0) + 1 / (rankConstant + rank + 1) });
    }
  }
  return [...scores.values()]
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ item }) => item);
}
