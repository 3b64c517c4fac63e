import { ConfigError } from "../platform/config.ts";
import type { Sql } from "../platform/database/client.ts";
import { adoptModel, findSettings, replaceModel } from "./queries.ts";

/** What the stored vectors were made by, and this installation's name in services that it shares with others. */
export interface Settings {
  readonly installation: string;
}

/**
 * Makes sure that the configured model is the one that made the stored vectors: vectors of two models cannot be compared.
 * Throws a `ConfigError` that names the way out.
 */
export async function checkModel(sql: Sql, model: string, dimension: number): Promise<Settings> {
  await adoptModel(sql, model, dimension);
  const stored = await findSettings(sql);
  if (stored.model === model && stored.dimension === dimension) return stored;
  // An installation that is tried without a model and then given one must not be refused over memories that it does not have.
  if (await replaceModel(sql, model, dimension)) return stored;
  const was = `${stored.model} with ${stored.dimension} dimensions`;
  throw new ConfigError(
    `EMBEDDING_MODEL, EMBEDDING_DIMENSION, EMBEDDING_PROVIDER: the stored memories were embedded by ${was}, configured is ${model} with ${dimension}. ` +
      "Stop the service and run `signalbox reembed` to embed them anew, or set these back.",
  );
}
