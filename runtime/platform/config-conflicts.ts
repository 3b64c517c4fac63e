import { type Config, ConfigError } from "./config.ts";

export const proxyWithoutUrl = "EMBEDDING_PROVIDER: proxy requires LLM_BASE_URL. Set LLM_BASE_URL, or use local.";

type Settings = Pick<
  Config,
  "PORT" | "GRPC_PORT" | "REPLICA_BUS" | "REDIS_URL" | "GRPC_TLS_CERT" | "GRPC_TLS_KEY" | "EMBEDDING_PROVIDER" | "LLM_BASE_URL"
>;

/**
 * Throws a `ConfigError` with one line for each group of settings that contradict each other. Called before the start changes
 * anything. Other commands do not need these settings, so they do not check them.
 */
export function refuseConflicts(config: Settings): void {
  const lines: string[] = [];
  if (config.REPLICA_BUS === "redis" && !config.REDIS_URL)
    lines.push("REPLICA_BUS: redis requires REDIS_URL. Set REDIS_URL, or use postgres or polling.");
  if (config.EMBEDDING_PROVIDER === "proxy" && !config.LLM_BASE_URL) lines.push(proxyWithoutUrl);
  if (!config.GRPC_TLS_CERT !== !config.GRPC_TLS_KEY) lines.push("GRPC_TLS_CERT and GRPC_TLS_KEY: set both or neither");
  // 0: any free port.
  if (config.PORT === config.GRPC_PORT && config.PORT !== 0)
    lines.push(`PORT and GRPC_PORT: must be two different ports; both are ${config.PORT}`);
  if (lines.length > 0) throw new ConfigError(lines.join("\n"));
}
