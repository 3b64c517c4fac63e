import type { RedisAccess, SqlAccess, VectorSettings } from "@signalbox/sdk";
import { createEmbed } from "../llm/embeddings.ts";
import { type Config, ConfigError } from "../platform/config.ts";
import { proxyWithoutUrl } from "../platform/config-conflicts.ts";
import type { Database, Sql } from "../platform/database/client.ts";
import { sqlAccess } from "../platform/database/nearest.ts";
import { type OpenVectors, openVectors } from "../platform/database/vectors.ts";
import type { Log } from "../platform/log.ts";
import { leanFetch } from "../platform/network/lean-fetch.ts";
import { openRedis, type Redis } from "../platform/redis/client.ts";
import { countRequests } from "../platform/telemetry/metrics.ts";
import type { Host } from "../plugins/host.ts";
import { createEmbedder, type Embedder, localEmbedder } from "./embedder.ts";
import { adoptModel, findSettings, replaceModel } from "./queries.ts";
import { type MemoryStores, storesOf } from "./stores.ts";

/** Resources that must be ready before the memory plugins are set up. */
export interface MemoryResources {
  readonly embedder: Embedder;
  readonly vectors: OpenVectors;
  readonly redis: Redis | null;
  /** Capabilities for built-in plugins only. */
  readonly grants: { readonly sql: SqlAccess; readonly vectors: VectorSettings; readonly redis?: RedisAccess };
}

type MemoryConfig = Pick<
  Config,
  | "LLM_BASE_URL"
  | "LLM_API_KEY"
  | "proxies"
  | "EMBEDDING_PROVIDER"
  | "EMBEDDING_MODEL"
  | "EMBEDDING_DIMENSION"
  | "PGVECTOR_DISTANCE_METRIC"
  | "PGVECTOR_INDEX"
  | "PGVECTOR_IVFFLAT_PROBES"
  | "REDIS_URL"
>;

/** Tables with an `embedding` column. */
export const vectorTables = ["memories", "document_chunks"] as const;

export async function prepareMemory(config: MemoryConfig, database: Database, log: Log): Promise<MemoryResources> {
  const { embedder, installation } = await checkedEmbedder(config, database, log);
  const vectors = await openVectors(database, vectorTables, vectorOptions(config, embedder), log);
  const redis = await openRedis(config.REDIS_URL, `signalbox:${installation.slice(0, 8)}:`, log);
  return {
    embedder,
    vectors,
    redis,
    grants: { sql: sqlAccess(database.sql, vectors.nearest), vectors, ...(redis && { redis }) },
  };
}

/**
 * The configured model. If a model API was added only for chats, the built-in embeddings of stored memories are kept: the service
 * starts with them and logs how to change, because vectors of two models cannot be compared.
 */
async function checkedEmbedder(config: MemoryConfig, { sql }: Database, log: Log) {
  const embedder = embedderOf(config, log);
  const check = ({ model, dimension }: Embedder) => checkModel(sql, model, dimension);
  if (config.EMBEDDING_PROVIDER !== undefined || embedder.local) return { embedder, ...(await check(embedder)) };
  try {
    return { embedder, ...(await check(embedder)) };
  } catch (error) {
    const local = localEmbedder(config.EMBEDDING_DIMENSION);
    const settings = await check(local).catch(() => Promise.reject(error));
    log.warn(
      `LLM_BASE_URL is set, but the stored memories were embedded by ${local.model}, which is still used. To use ${embedder.model}, stop the service and run \`signalbox reembed\`; to keep ${local.model} without this warning, set EMBEDDING_PROVIDER=local.`,
    );
    return { embedder: local, ...settings };
  }
}

const vectorOptions = (config: MemoryConfig, { model, dimension }: Pick<Embedder, "model" | "dimension">) => ({
  model,
  dimension,
  metric: config.PGVECTOR_DISTANCE_METRIC,
  index: config.PGVECTOR_INDEX,
  probes: config.PGVECTOR_IVFFLAT_PROBES,
});

export function embedderOf(config: MemoryConfig, log: Pick<Log, "debug">): Embedder {
  const provider = config.EMBEDDING_PROVIDER ?? (config.LLM_BASE_URL ? "proxy" : "local");
  const dimension = config.EMBEDDING_DIMENSION;
  if (provider === "local") return localEmbedder(dimension);
  if (!config.LLM_BASE_URL) throw new ConfigError(proxyWithoutUrl);
  const model = config.EMBEDDING_MODEL;
  const fetch = countRequests(leanFetch(config), log);
  return createEmbedder(
    `proxy/${model}`,
    dimension,
    createEmbed({ fetch, baseUrl: config.LLM_BASE_URL, apiKey: config.LLM_API_KEY, model, dimension }),
  );
}

/** The stores provided by plugins: long-term memories in the configured one, short-term ones on Redis if available. */
export function storesFrom(host: Host, withRedis: boolean, longTerm: string): MemoryStores {
  const storeNamed = (name: string) => {
    const backend = host.memories.get(name);
    const available = [...host.memories.keys()].join(", ");
    if (!backend)
      throw new ConfigError(
        `MEMORY_STORE: no loaded plugin provides the memory store ${name}; available: ${available}. Use one of these, or add its plugin to SIGNALBOX_PLUGINS`,
      );
    return { name, backend };
  };
  const long = storeNamed(longTerm);
  return storesOf(long, withRedis ? storeNamed("redis") : long);
}

/** The model that computed the stored vectors, and the prefix of this installation in services that it shares with others. */
interface Settings {
  readonly installation: string;
}

/**
 * Checks that the configured model computed the stored vectors, because vectors of two models cannot be compared. Throws a
 * `ConfigError` that says how to continue.
 */
async function checkModel(sql: Sql, model: string, dimension: number): Promise<Settings> {
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
