import type { Plugin } from "@signalbox/sdk";
import type { Config } from "../platform/config.ts";
import type { Database } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { chunksToEmbed, type EmbeddingSource, embedBatch, PostponedTexts } from "./embed-waiting.ts";
import { inDatabase } from "./inline-store.ts";
import { embedderOf, prepareMemory, vectorTables } from "./prepare.ts";
import { changeModel, countUnembedded, findSettings } from "./queries.ts";
import { openStores } from "./stand-alone.ts";

const maxElsewhere = 100_000;
const answerMs = 60_000;

export interface Progress {
  readonly done: number;
  readonly total: number;
}

/**
 * Embeds every memory and document chunk with the configured model: `signalbox reembed`. Stop the service first.
 * If interrupted, run it again to resume; the service also continues in the background.
 */
export async function reembed(
  options: { config: Config; database: Database; builtIns: readonly Plugin[]; log: Log; signal: AbortSignal },
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
  const { config, database, log, signal } = options;
  const { sql } = database;
  const embedder = embedderOf(config, log);
  const { model, dimension } = embedder;
  const before = await findSettings(sql);
  const changed = before.model !== model || before.dimension !== dimension;
  // Check the model first: if it is unavailable or its vectors have another length, the existing vectors must be kept.
  if (changed) await embedder.embedAll(["hello"], AbortSignal.any([signal, AbortSignal.timeout(answerMs)]));
  if (changed) await changeModel(sql, vectorTables, model, dimension);
  const resources = await prepareMemory(config, database, log);
  try {
    const stores = await openStores(resources, options.builtIns, config, log);
    // Vectors in the database were dropped with their column.
    if (changed && stores.shortTerm !== stores.longTerm) await stores.shortTerm.backend.clearVectors();
    // The database counts its rows; short-term memories elsewhere are few.
    const elsewhere = stores.all.filter(({ name }) => name !== inDatabase);
    const waiting = await Promise.all(elsewhere.map(({ backend }) => backend.unembedded(maxElsewhere)));
    let total = (await countUnembedded(sql)).total + waiting.flat().length;
    let done = 0;
    onProgress({ done, total });
    const refusedTexts = new PostponedTexts();
    const sources: EmbeddingSource[] = [...stores.all.map(({ backend }) => backend), chunksToEmbed(sql, resources.vectors)];
    for (const source of sources) {
      for (let count = -1; count !== 0; done += count) {
        signal.throwIfAborted();
        count = await embedBatch(source, resources.embedder, refusedTexts, signal);
        total = Math.max(total, done + count);
        if (count > 0) onProgress({ done: done + count, total });
      }
    }
    if (refusedTexts.size > 0)
      log.warn("the model refused some texts; only keyword search finds them", { texts: refusedTexts.size });
    return { done: done - refusedTexts.size, total };
  } finally {
    await resources.redis?.close();
  }
}
