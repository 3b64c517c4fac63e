import type { Embed } from "../llm/embeddings.ts";
import { batch } from "../platform/database/batch.ts";
import { Failure } from "../platform/retry.ts";
import { hashEmbedding, localModel } from "./local-embedding.ts";

export interface Embedder {
  /** Provider and model: vectors of different models are not comparable. */
  readonly model: string;
  readonly dimension: number;
  /** Vectors are computed in this process: free of charge and immediate. */
  readonly local: boolean;
  /** Vectors of many texts, in order. Throws while the model is unavailable. */
  embedAll(texts: readonly string[], signal: AbortSignal): Promise<number[][]>;
  /** The vector of one text; concurrent calls share a request. `null` if it takes too long or fails. */
  embedSoon(text: string): Promise<number[] | null>;
  /** The vector of a query. Throws a `Failure` while the model is unavailable. */
  embedQuery(text: string): Promise<number[]>;
  /** The model failed a moment ago; callers should not wait for it. */
  readonly isBackingOff: () => boolean;
}

/** Maximum length of an embedded text, in characters; models truncate longer texts anyway. */
const maxTextLength = 24_000;
const minTextLength = 1_000;
/** Texts embedded in one request. */
export const batchSize = 64;
/** Maximum time that a creation waits for its vector, in milliseconds. */
const embedWaitMs = 5_000;
const queryMs = 10_000;
/** After a failure, calls fail at once for this long, milliseconds. */
const backoffMs = 5_000;
const keptQueries = 50;

const never = new AbortController().signal;

export const localEmbedder = (dimension: number): Embedder =>
  createEmbedder(localModel, dimension, async (texts) => texts.map((text) => hashEmbedding(text, dimension)), true);

export function createEmbedder(model: string, dimension: number, embed: Embed, local = false): Embedder {
  let backoffUntil = 0;
  const isBackingOff = () => Date.now() < backoffUntil;
  const embedWithBackoff = async (texts: readonly string[], signal: AbortSignal): Promise<number[][]> => {
    try {
      const vectors = await embedOrShorten(embed, texts, signal);
      backoffUntil = 0;
      return vectors;
    } catch (error) {
      backoffUntil = Date.now() + backoffMs;
      throw error;
    }
  };
  const embedBatched = batch((texts: string[]) => embedWithBackoff(texts, AbortSignal.timeout(embedWaitMs)), {
    maxItems: batchSize,
    concurrency: 4,
  });
  const queries = new Map<string, Promise<number[]>>();
  return {
    model,
    dimension,
    local,
    isBackingOff,
    embedAll: async (texts, signal) => {
      const vectors: number[][] = [];
      for (let i = 0; i < texts.length; i += batchSize)
        vectors.push(...(await embedWithBackoff(texts.slice(i, i + batchSize), signal)));
      return vectors;
    },
    embedSoon: (text) => (isBackingOff() ? Promise.resolve(null) : embedBatched(text).catch(() => null)),
    embedQuery: (text) => {
      // Kept vectors would cost more in garbage collection than computing one again.
      if (local) return embedWithBackoff([text], never).then(([vector]) => vector as number[]);
      const known = queries.get(text);
      if (known) return known;
      const request = embedWithBackoff([text], AbortSignal.timeout(queryMs)).then(([vector]) => vector as number[]);
      queries.set(text, request);
      request.catch(() => queries.delete(text));
      // The tasks of one event embed the same query. Evicts the oldest entry.
      if (queries.size > keptQueries) queries.delete(queries.keys().next().value as string);
      return request;
    },
  };
}

/** Whether the model refuses the texts, so that the same request fails again. */
export const refusesText = ({ status }: Failure): boolean => [400, 413, 422].includes(status ?? 0);

/** Shortens a text that the model refuses until it is accepted, without failing the rest of its batch. */
async function embedOrShorten(embed: Embed, texts: readonly string[], signal: AbortSignal): Promise<number[][]> {
  try {
    return await embed(
      texts.map((text) => text.slice(0, maxTextLength).toWellFormed()),
      signal,
    );
  } catch (error) {
    if (!(error instanceof Failure) || !refusesText(error)) throw error;
    if (texts.length > 1) {
      const vectors: number[][] = [];
      for (const text of texts) vectors.push(...(await embedOrShorten(embed, [text], signal)));
      return vectors;
    }
    const [text = ""] = texts;
    const length = Math.min(text.length, maxTextLength);
    if (length <= minTextLength) throw error;
    return embedOrShorten(embed, [text.slice(0, Math.ceil(length / 2))], signal);
  }
}
