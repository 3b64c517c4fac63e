import type { MemoryStore, VectorSettings } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { Failure } from "../platform/retry.ts";
import { embedChunks, listUnembeddedChunks } from "./chunk-queries.ts";
import { batchSize, type Embedder, refusesText } from "./embedder.ts";

/** Rows that wait for their vectors: those of a memory store, or document chunks. */
export type EmbeddingSource = Pick<MemoryStore, "unembedded" | "embed">;

export const chunksToEmbed = (sql: Sql, vectors: VectorSettings): EmbeddingSource => ({
  unembedded: (limit) => listUnembeddedChunks(sql, limit),
  embed: (entries) => embedChunks(sql, entries, vectors),
});

const embedMs = 60_000;
/** Wait before the next try, because the model or its proxy may have recovered by then. */
const retryAfterMs = 600_000;

/** Texts that the model refuses; retried after ten minutes so they do not block the others. */
export class PostponedTexts {
  readonly #until = new Map<string, number>();

  get size(): number {
    return this.#until.size;
  }
  add(id: string): void {
    this.#until.set(id, Date.now() + retryAfterMs);
  }
  has(id: string): boolean {
    const until = this.#until.get(id);
    if (until === undefined || until > Date.now()) return until !== undefined;
    this.#until.delete(id);
    return false;
  }
}

/** Embeds the oldest waiting rows and returns how many it processed. Throws while the model is unavailable. */
export async function embedBatch(
  source: EmbeddingSource,
  embedder: Embedder,
  postponedTexts: PostponedTexts,
  stop: AbortSignal,
): Promise<number> {
  const rows = (await source.unembedded(batchSize + postponedTexts.size))
    .filter(({ id }) => !postponedTexts.has(id))
    .slice(0, batchSize);
  if (rows.length === 0) return 0;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(embedMs)]);
  const embed = async (some: typeof rows) => {
    const texts = some.map(({ content }) => content);
    const vectors = await embedder.embedAll(texts, signal);
    await source.embed(some.map(({ id }, i) => ({ id, embedding: vectors[i] as number[] })));
  };
  /** If the model embeds a single word, it is available, and the text is the problem. */
  const blameText = async (error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    if (!refusesText(error)) await embedder.embedAll(["hello"], signal);
  };
  try {
    await embed(rows);
  } catch (error) {
    await blameText(error);
    for (const row of rows) {
      try {
        await embed([row]);
      } catch (failure) {
        await blameText(failure);
        postponedTexts.add(row.id);
      }
    }
  }
  return rows.length;
}
