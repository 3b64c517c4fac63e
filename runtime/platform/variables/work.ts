import { z } from "zod";
import { address, amount, headerValue, integer, list, yesNo } from "../config-values.ts";

/** Models, memories, plugins, and the processing of executions. */
export const work = {
  LLM_BASE_URL: address.optional().describe("Base URL of an OpenAI-compatible API, including `/v1`."),
  LLM_API_KEY: headerValue.describe("API key for `LLM_BASE_URL`."),
  LLM_MODEL: z.string().default("gpt-4o-mini").describe("Model for agents without a `model`."),
  LLM_TIMEOUT_SECONDS: integer(120, 1, 3600).describe("Timeout of one LLM request, in seconds."),
  LLM_MAX_TOOL_ROUNDS: integer(5, 0, 100).describe(
    "Maximum number of LLM requests with tools in one execution. One request without tools may follow.",
  ),
  EMBEDDING_PROVIDER: z
    .enum(["proxy", "local"])
    .optional()
    .describe(
      "Where embeddings are computed. `proxy`: by the API at `LLM_BASE_URL`; `local`: by feature hashing, without a model. Default: `proxy` if `LLM_BASE_URL` is set, otherwise `local`.",
    ),
  EMBEDDING_MODEL: z.string().default("text-embedding-3-small").describe("Embedding model of the API at `LLM_BASE_URL`."),
  EMBEDDING_DIMENSION: integer(1536, 1, 16_000).describe(
    "Number of dimensions of the embeddings. It must match the embedding model.",
  ),
  MEMORY_SEARCH_LIMIT: integer(10, 0, 100).describe("Maximum number of memories in a prompt."),
  MEMORY_TOP_K: integer(10, 1, 1000).describe("Maximum number of results of a memory search without `limit`."),
  MEMORY_STORE: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,62}$/, "must be the name of a memory store, for example pgvector")
    .default("pgvector")
    .describe("Store of long-term memories: `pgvector`, or a memory store of a plugin."),
  REDIS_MEMORY_TTL: integer(3600, 1, 315_360_000).describe("Lifetime of short-term memories without `ttl_seconds`, in seconds."),
  PGVECTOR_DISTANCE_METRIC: z
    .enum(["cosine", "l2", "ip"])
    .default("cosine")
    .describe("Distance metric for vectors: cosine, Euclidean (`l2`) or inner product (`ip`)."),
  PGVECTOR_INDEX: z.enum(["hnsw", "ivfflat"]).default("hnsw").describe("Type of the vector index."),
  PGVECTOR_IVFFLAT_PROBES: integer(10, 1, 32_768).describe(
    "Number of lists that a search of an `ivfflat` index visits. More lists give better results but take longer.",
  ),
  KNOWLEDGE_SYNC_MINUTES: integer(60, 0, 525_600).describe(
    "Minutes between two syncs of a knowledge source. 0: sync only on demand.",
  ),
  TRACKER_UPDATES_ENABLED: yesNo(true).describe(
    "Whether Signalbox writes to trackers. If false, every write is recorded as a dry run.",
  ),
  COMMENT_FOOTER: yesNo(true).describe("Whether answers end with a line that names the agent and the run."),
  WORKER_CONCURRENCY: integer(0, 0, 4096).describe(
    "Maximum number of concurrent executions per replica. 0: one for each 4 MB of memory, at least 16 and at most 512 (64 with the embedded database).",
  ),
  SIGNALBOX_PLUGINS: list.describe(
    "Plugins to load in the sandbox: package names or paths of folders or modules, comma-separated. See sdk/README.md.",
  ),
  SIGNALBOX_TRUSTED_PLUGINS: list
    .refine(
      (all) => all.every((one) => /^[a-z][a-z0-9-]*@\d+\.\d+\.\d+[\w.+-]*#[0-9a-f]{64}$/.test(one)),
      "must be a comma-separated list of plugins such as clock@1.0.0#<SHA-256 of the bundle>",
    )
    .describe(
      "Plugins that run without a sandbox in the service's process, with all its permissions: `id@version#sha256`, comma-separated.",
    ),
  PLUGIN_WALLS: z
    .enum(["auto", "require"])
    .default("auto")
    .describe(
      "What to do if a plugin isolation layer is missing. `auto`: run plugins with the other layers; `require`: refuse to run plugins.",
    ),
  SIGNALBOX_DENO: z
    .string()
    .optional()
    .describe(
      "Path of the Deno binary that runs sandboxed plugins. Default: the installed `deno` package, otherwise `deno` on the PATH.",
    ),
  DEFERRED_WEBHOOK_TTL: integer(604_800, 1, 315_360_000).describe(
    "Seconds that a webhook is deferred while its sandboxed plugin is unavailable. After that its event is discarded.",
  ),
  EXECUTION_RETRY_LIMIT: integer(2, 0, 100).describe("Maximum number of retries of an execution after a temporary error."),
  EXECUTION_RETRY_DELAY_SECONDS: integer(5, 0, 86_400).describe(
    "Seconds before the first retry of an execution. The delay doubles with each retry.",
  ),
  OUTAGE_HOLD_HOURS: amount(24).describe(
    "Hours that the model or a tracker may be unavailable before an execution that needs it is held. A held execution continues when the outage ends, or when it is released. 0: no execution is held.",
  ),
  EXECUTION_LEASE_SECONDS: integer(30, 2, 3600).describe(
    "Seconds without a heartbeat after which the executions of a worker are assigned to another worker.",
  ),
  WATCHDOG_ENABLED: yesNo(false).describe("Whether the watchdog stores entries for GET /api/watchdog."),
  RETENTION_EVENT_DAYS: integer(90, 0, 36_500).describe("Days after which payloads and headers of events are removed. 0: never."),
  RETENTION_DISCARDED_DAYS: integer(7, 0, 36_500).describe(
    "Days after which payloads and headers of discarded events are removed. 0: never.",
  ),
  RETENTION_TRANSCRIPT_DAYS: integer(90, 0, 36_500).describe(
    "Days after which transcripts and results of executions are removed. 0: never.",
  ),
  RETENTION_HISTORY_DAYS: integer(400, 0, 36_500).describe(
    "Days after which events and executions are removed. Their usage stays in the daily sums. 0: never.",
  ),
  RETENTION_AUDIT_DAYS: integer(400, 0, 36_500).describe("Days after which audit log entries are removed. 0: never."),
  RATE_LIMIT_DEFAULT: integer(60, 1, 1_000_000).describe("Gateway calls per minute for an agent with the trust level `default`."),
  RATE_LIMIT_TRUSTED: integer(300, 1, 1_000_000).describe(
    "Gateway calls per minute for an agent with the trust level `trusted`.",
  ),
  RATE_LIMIT_PRIVILEGED: integer(1200, 1, 1_000_000).describe(
    "Gateway calls per minute for an agent with the trust level `privileged`.",
  ),
} as const satisfies Record<string, z.ZodType>;
