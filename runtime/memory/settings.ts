import { ConfigError } from "../platform/config.ts";
import type { Sql } from "../platform/database/client.ts";
import { adoptModel, findSettings, replaceModel } from "./queries.ts";

/** The model that made the stored vectors, and the prefix of this installation in services that it shares with others. */
export interface Settings {
  readonly installation: string;
}

/**
 * Checks that the configured model made the stored vectors: vectors of two models cannot be compared.
 * Throws a `ConfigError` that says how to continue.
 */
export async function checkModel(sql: Sql, model: string, dimension: number): Promise<Settings> {
  await adoptModel(sql, model, dimension);
  const stored = await findSettings(sql);
  if (stored.model === model && stored.dimension === dimension) return stored;
  // An installation without memories may change its model freely.
  if (await replaceModel(sql, model, dimension)) return stored;
  const was = `${stored.model} with ${stored.dimension} dimensions`;
  throw new ConfigError(
    `EMBEDDING_MODEL, EMBEDDING_DIMENSION, EMBEDDING_PROVIDER: the stored memories were embedded by ${was}, but ${model} with ${dimension} dimensions is configured. ` +
      "Stop the service and run `signalbox reembed`, or restore the previous values.",
  );
}
