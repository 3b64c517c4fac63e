import { z } from "zod";
import { amount, items, list, mostTokens, previousSecret, standing, whole, yesNo } from "./config-values.ts";
import { type Environment, parse, readEnvironment, withPrefix } from "./environment.ts";
import { logLevels } from "./log.ts";
import { type Mistyped, mistypedIn } from "./mistyped.ts";
import { parseNetworks } from "./network/networks.ts";
import { type Setting, settingsOf } from "./settings.ts";

const networks = list.refine(
  (given) => given.every((one) => isNetwork(one)),
  "must be a comma-separated list of networks such as 10.0.0.0/8 or fd00::/8",
);
const address = z.url({ protocol: /^https?$/, error: "must be an http or https URL" });

/** Every environment variable of the service: schema, default and description. `configuration.md` is generated from it. */
export const variables = {
  PORT: whole(8000, 0, 65535).describe("Port of the HTTP API and the webhooks."),
  GRPC_PORT: whole(9090, 0, 65535).describe("Port of the gRPC gateway."),
  HOST: z
    .string()
    .optional()
    .describe("Address to listen on. Default: 127.0.0.1 if there are no API keys when the service starts, otherwise 0.0.0.0."),
  PUBLIC_URL: address
    .optional()
    .describe(
      "URL under which browsers reach the service, with its path, if a reverse proxy is in front. Default: the address of the request.",
    ),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: "must be a postgres:// URL" })
    .optional()
    .describe("URL of a PostgreSQL database, version 15 or newer with pgvector. Default: the embedded database in `DATA_DIR`."),
  DIRECT_DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: "must be a postgres:// URL" })
    .optional()
    .describe(
      "URL of the same database without a pooler. Set it if `DATABASE_URL` leads to a pooler in transaction mode, for example PgBouncer: migrations, locks and notifications need a session.",
    ),
  REPLICA_BUS: z
    .enum(["postgres", "redis", "polling"])
    .default("postgres")
    .describe(
      "How replicas hear of changes. `postgres`: LISTEN and NOTIFY; `redis`: channels of `REDIS_URL`; `polling`: each looks every two seconds, for a PostgreSQL without LISTEN.",
    ),
  DATABASE_WAIT_SECONDS: whole(20, 0, 3600).describe(
    "Seconds that a start waits while PostgreSQL is unavailable. After that it fails. 0: do not wait.",
  ),
  DATA_DIR: z.string().default("./data").describe("Folder of the embedded database."),
  LLM_BASE_URL: address.optional().describe("Base URL of an OpenAI-compatible API, including `/v1`."),
  LLM_API_KEY: z.string().optional().describe("API key for `LLM_BASE_URL`."),
  LLM_MODEL: z.string().default("gpt-4o-mini").describe("Model for agents without a `model`."),
  LLM_TIMEOUT_SECONDS: whole(120, 1, 3600).describe("Timeout of one LLM request, in seconds."),
  LLM_MAX_TOOL_ROUNDS: whole(5, 0, 100).describe(
    "Maximum number of LLM requests with tools in one execution. One request without tools may follow.",
  ),
  EMBEDDING_PROVIDER: z
    .enum(["proxy", "local"])
    .optional()
    .describe(
      "Where embeddings are computed. `proxy`: by the API at `LLM_BASE_URL`; `local`: by feature hashing, without a model. Default: `proxy` if `LLM_BASE_URL` is set, otherwise `local`.",
    ),
  EMBEDDING_MODEL: z.string().default("text-embedding-3-small").describe("Embedding model of the API at `LLM_BASE_URL`."),
  EMBEDDING_DIMENSION: whole(1536, 1, 16_000).describe(
    "Number of dimensions of the embeddings. It must match the embedding model.",
  ),
  MEMORY_SEARCH_LIMIT: whole(10, 0, 100).describe("Maximum number of memories in a prompt."),
  MEMORY_TOP_K: whole(10, 1, 1000).describe("Maximum number of results of a memory search without `limit`."),
  MEMORY_STORE: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,62}$/, "must be the name of a memory store, for example pgvector")
    .default("pgvector")
    .describe("Store of long-term memories: `pgvector`, or a memory store of a plugin."),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: "must be a redis:// or rediss:// URL" })
    .optional()
    .describe(
      "URL of the Redis server for short-term memories and rate limits. Default: redis://127.0.0.1:6379 if a server responds there when the service starts, otherwise the database.",
    ),
  REDIS_MEMORY_TTL: whole(3600, 1, 315_360_000).describe("Lifetime of short-term memories without `ttl_seconds`, in seconds."),
  PGVECTOR_DISTANCE_METRIC: z
    .enum(["cosine", "l2", "ip"])
    .default("cosine")
    .describe("Distance metric for vectors: cosine, Euclidean (`l2`) or inner product (`ip`)."),
  PGVECTOR_INDEX: z.enum(["hnsw", "ivfflat"]).default("hnsw").describe("Type of the index on vectors."),
  PGVECTOR_IVFFLAT_PROBES: whole(10, 1, 32_768).describe(
    "Number of lists that a search of an `ivfflat` index visits. More lists give better results and take longer.",
  ),
  KNOWLEDGE_SYNC_MINUTES: whole(60, 0, 525_600).describe(
    "Minutes between two syncs of a knowledge source. 0: sync only on demand.",
  ),
  TRACKER_UPDATES_ENABLED: yesNo(true).describe(
    "Whether Signalbox writes to trackers. If false, every write is recorded as a dry run.",
  ),
  COMMENT_FOOTER: yesNo(true).describe("Whether answers end with a line that names the agent and the run."),
  WORKER_CONCURRENCY: whole(0, 0, 4096).describe(
    "Maximum number of concurrent executions per replica. 0: one for each 4 MB of memory, at least 16 and at most 512 (64 with the embedded database).",
  ),
  SIGNALBOX_ROLE: z
    .enum(["all", "api", "worker"])
    .default("all")
    .describe(
      "What the process does. `api`: serve requests; `worker`: process executions and serve only `/health`; `all`: both.",
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
      "Plugins that run without a sandbox in the process of the service, with all its permissions: `id@version#sha256`, comma-separated.",
    ),
  PLUGIN_WALLS: z
    .enum(["auto", "require"])
    .default("auto")
    .describe(
      "What to do if an isolation layer of plugins is missing. `auto`: run plugins with the other layers; `require`: refuse to run plugins.",
    ),
  SIGNALBOX_DENO: z
    .string()
    .optional()
    .describe(
      "Path of the Deno binary that runs sandboxed plugins. Default: the installed `deno` package, otherwise `deno` on the PATH.",
    ),
  UNREAD_WEBHOOK_TTL: whole(604_800, 1, 315_360_000).describe(
    "Seconds that a webhook is deferred while its sandboxed plugin is unavailable. After that its event is discarded.",
  ),
  // A template whose variables were empty must not open the API.
  API_KEYS: items
    .refine((keys) => keys.length > 0, "contains no key; unset it to use no API keys")
    .refine(
      (keys) => keys.every((key) => key.length >= 16),
      "contains a key of fewer than 16 characters; create one with: openssl rand -hex 32",
    )
    .default([])
    .describe(
      "API keys with all scopes, comma-separated. Default: none; the API is then open and the service listens on 127.0.0.1.",
    ),
  MAX_BODY_BYTES: whole(1_048_576, 1024, 1 << 30).describe("Maximum size of an API request body, in bytes."),
  MAX_WEBHOOK_BYTES: whole(26_214_400, 1024, 1 << 30).describe("Maximum size of a webhook body, in bytes."),
  MAX_UNCHECKED_WEBHOOK_BYTES: whole(5_242_880, 1024, 1 << 30).describe(
    "Maximum size of a webhook body that needs no secret or signature, in bytes. Default: `MAX_WEBHOOK_BYTES` if set, otherwise 5 MiB.",
  ),
  MAX_INFLIGHT_BODY_BYTES: whole(268_435_456, 1024, 2 ** 40).describe(
    "Maximum number of bytes of request bodies held at the same time. Further requests are answered 503.",
  ),
  WEBHOOK_REPLAY_HOURS: whole(0, 0, 8760).describe(
    "Hours in which a signed webhook with the same body is a duplicate, whatever its delivery id. 0 turns the check off.",
  ),
  TRIGGER_ALLOWED_BOTS: list.describe(
    "Bots and apps whose events start runs, by login, comma-separated; `*` for all. Default: none.",
  ),
  TRIGGER_MIN_STANDING: standing("none").describe(
    "Lowest standing in the project whose events start runs: `owner`, `member`, `collaborator`, `contributor` or `none`. An author whose standing the platform does not tell is not refused.",
  ),
  WRITE_MIN_STANDING: standing("collaborator").describe(
    "Lowest standing in the project whose runs may use tools that write. An author whose standing the platform does not tell is not limited.",
  ),
  LOOP_WINDOW_SECONDS: whole(15, 0, 3600).describe(
    "Seconds after a write of Signalbox in which an event on the same issue counts as an answer to it. 0 turns the detection of loops off.",
  ),
  LOOP_MAX_HOPS: whole(10, 0, 1000).describe(
    "Answers in a row on one issue before the next one is held; 3 at most for bots and apps. 0: no limit.",
  ),
  LOOP_COOLDOWN_SECONDS: whole(600, 1, 86_400).describe("Seconds that the executions of a loop are held."),
  BUDGET_RUN_TOKENS: whole(500_000, 0, mostTokens).describe(
    "Tokens that one execution may use, all attempts together. 0: no limit.",
  ),
  BUDGET_RUN_SECONDS: whole(1200, 0, 86_400).describe("Seconds that one execution may work. 0: no limit."),
  BUDGET_RUN_WRITES: whole(10, 0, 10_000).describe("Writes by tools in one execution. 0: no limit."),
  BUDGET_ISSUE_RUNS_PER_HOUR: whole(60, 0, 1_000_000).describe("Executions that may begin on one issue in an hour. 0: no limit."),
  BUDGET_ISSUE_TOKENS_PER_DAY: whole(5_000_000, 0, mostTokens).describe(
    "Tokens that the executions on one issue may use in a day. 0: no limit.",
  ),
  BUDGET_AUTHOR_RUNS_PER_HOUR: whole(120, 0, 1_000_000).describe(
    "Executions an hour for one author whose known standing is below collaborator. 0: no limit.",
  ),
  BUDGET_DAY_TOKENS: whole(0, 0, mostTokens).describe("Tokens that the service may use in a day. 0: no limit."),
  BUDGET_DAY_USD: amount(0).describe("US dollars that the service may spend in a day. 0: no limit."),
  MODEL_PRICES: z
    .string()
    .optional()
    .describe(
      'US dollars per million tokens by model, as JSON or the path of a JSON file: `{"gpt-4o": {"input": 2.5, "output": 10}}`. Used where the LLM proxy reports no cost.',
    ),
  UPDATE_DEBOUNCE_SECONDS: whole(2, 0, 3600).describe(
    "Seconds to wait for further changes of an issue; only its last change then starts runs. 0: every change starts runs at once.",
  ),
  COMMANDS_ENABLED: yesNo(true).describe(
    "Whether comments that begin with `/stop`, `/retry`, `/continue`, `/approve` or `/reject` are commands.",
  ),
  BUDGET_MONTH_USD: amount(0).describe("US dollars that the service may spend in a calendar month. 0: no limit."),
  TRACKER_PRESENCE: z
    .enum(["off", "reaction", "comment"])
    .optional()
    .describe(
      "How an issue shows that an agent works: `off`, `reaction`, or `comment`, one comment that is edited. If unset, projects and agents choose. Default: `reaction`.",
    ),
  APPROVAL_TTL_DAYS: amount(7).describe(
    "Days within which a proposal can be approved; parts of a day are possible. 0: for ever.",
  ),
  EXECUTION_RETRY_LIMIT: whole(2, 0, 100).describe("Maximum number of retries of an execution after a temporary error."),
  EXECUTION_RETRY_DELAY_SECONDS: whole(5, 0, 86_400).describe(
    "Seconds before the first retry of an execution. The delay doubles with each retry.",
  ),
  OUTAGE_HOLD_HOURS: amount(24).describe(
    "Hours of an outage of the model or a tracker after which an execution that tries it in vain is held: until the outage ends, or until it is released. 0: it keeps trying.",
  ),
  EXECUTION_LEASE_SECONDS: whole(30, 2, 3600).describe(
    "Seconds without a heartbeat after which the executions of a worker are assigned to another worker.",
  ),
  ENCRYPTION_KEY: list
    .refine(
      (keys) => keys.every(isEncryptionKey),
      "must be 32 bytes as 64 hexadecimal digits or as base64; separate several keys with commas",
    )
    .describe(
      "Key that encrypts stored credentials: 32 bytes in hexadecimal or base64. Several keys, comma-separated, allow rotation: the first encrypts, all decrypt.",
    ),
  ALLOWED_HOSTS: list
    .transform((names) => names.map((name) => name.toLowerCase().replace(/\.$/, "")))
    .refine(
      (names) => names.every((name) => /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)),
      "must be DNS names without ports, comma-separated",
    )
    .describe(
      "DNS names that requests may use while there are no API keys, comma-separated. IP addresses, `localhost` and names without a dot are always allowed.",
    ),
  TRUSTED_PROXIES: networks.describe("Networks of the reverse proxies whose `X-Forwarded-For` is trusted, comma-separated."),
  ALLOW_PRIVATE_ADDRESSES: networks.describe("Private networks that URLs given by users may reach, comma-separated."),
  WATCHDOG_ENABLED: yesNo(false).describe("Whether the watchdog stores entries for GET /api/watchdog."),
  RETENTION_EVENT_DAYS: whole(90, 0, 36_500).describe("Days after which payloads and headers of events are removed. 0: never."),
  RETENTION_DISCARDED_DAYS: whole(7, 0, 36_500).describe(
    "Days after which payloads and headers of discarded events are removed. 0: never.",
  ),
  RETENTION_TRANSCRIPT_DAYS: whole(90, 0, 36_500).describe(
    "Days after which transcripts and results of executions are removed. 0: never.",
  ),
  RETENTION_HISTORY_DAYS: whole(400, 0, 36_500).describe(
    "Days after which events and executions are removed. Their usage stays in the daily sums. 0: never.",
  ),
  RETENTION_AUDIT_DAYS: whole(400, 0, 36_500).describe("Days after which entries of the audit log are removed. 0: never."),
  LOG_LEVEL: z.enum(logLevels).default("info").describe("Lowest level of log lines that are written."),
  LOG_FORMAT: z
    .enum(["json", "text"])
    .optional()
    .describe("Format of the log: one JSON object per line, or text. Default: `text` on a terminal, otherwise `json`."),
  METRICS_OPEN: yesNo(false).describe("Whether GET /metrics needs no API key for callers on the same machine."),
  OTEL_EXPORTER_OTLP_ENDPOINT: address
    .optional()
    .describe("Base URL of an OpenTelemetry collector (OTLP over HTTP). Default: none; no traces are recorded."),
  OTEL_SERVICE_NAME: z.string().default("signalbox").describe("Name of the service in traces."),
  OTEL_CAPTURE_CONTENT: yesNo(false).describe(
    "Whether traces contain prompts, answers, and arguments and results of tools. They may be confidential.",
  ),
  NODE_USE_ENV_PROXY: yesNo(false).describe(
    "Whether requests to models and trackers use the proxies in `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`.",
  ),
  GRPC_TLS_CERT: z
    .string()
    .optional()
    .describe("PEM file with the TLS certificate of the gRPC port. Default: none; the port uses h2c, without TLS."),
  GRPC_TLS_KEY: z.string().optional().describe("PEM file with the private key for `GRPC_TLS_CERT`."),
  RATE_LIMIT_DEFAULT: whole(60, 1, 1_000_000).describe("Gateway calls per minute for an agent with the trust level `default`."),
  RATE_LIMIT_TRUSTED: whole(300, 1, 1_000_000).describe("Gateway calls per minute for an agent with the trust level `trusted`."),
  RATE_LIMIT_PRIVILEGED: whole(1200, 1, 1_000_000).describe(
    "Gateway calls per minute for an agent with the trust level `privileged`.",
  ),
  ALPHA_TOKEN: z.string().optional().describe("Token for alpha (GitHub) with write permission on issues."),
  ALPHA_API_URL: address.optional().describe("Base URL of the API of alpha. Default: https://api.github.com."),
  ALPHA_WEBHOOK_SECRET: z.string().optional().describe("Secret that signs the webhooks of alpha."),
  ALPHA_WEBHOOK_SECRET_PREVIOUS: previousSecret("ALPHA_WEBHOOK_SECRET"),
  BETA_URL: address.optional().describe("Base URL of beta (GitLab). Default: https://gitlab.com."),
  BETA_TOKEN: z
    .string()
    .optional()
    .describe("Token for beta with the scope `api`. Without `BETA_WEBHOOK_SECRET`, webhooks must carry it."),
  BETA_WEBHOOK_SECRET: z.string().optional().describe("Secret token of the webhooks of beta."),
  BETA_WEBHOOK_SECRET_PREVIOUS: previousSecret("BETA_WEBHOOK_SECRET"),
  GAMMA_URL: address.optional().describe("Base URL of gamma (Jira)."),
  GAMMA_EMAIL: z
    .string()
    .optional()
    .describe("Email address of the account at gamma. On Jira Server: user name, if the token is a password."),
  GAMMA_API_TOKEN: z.string().optional().describe("API token of the account at gamma. On Jira Server: personal access token."),
  GAMMA_IS_CLOUD: yesNo(true).describe("Whether gamma is Jira Cloud. Set `false` for Jira Server and Data Center."),
  GAMMA_WEBHOOK_SECRET: z.string().optional().describe("Secret that signs the webhooks of gamma."),
  GAMMA_WEBHOOK_SECRET_PREVIOUS: previousSecret("GAMMA_WEBHOOK_SECRET"),
  DELTA_API_URL: address.optional().describe("Base URL of the API of delta (Plane). Default: https://api.plane.so."),
  DELTA_API_KEY: z.string().optional().describe("API key of the account at delta. Webhooks may carry it in `X-API-Key`."),
  DELTA_WORKSPACE_SLUG: z.string().optional().describe("Slug of the workspace at delta."),
  DELTA_WEBHOOK_SECRET: z.string().optional().describe("Secret that signs the webhooks of delta."),
  DELTA_WEBHOOK_SECRET_PREVIOUS: previousSecret("DELTA_WEBHOOK_SECRET"),
} as const satisfies Record<string, z.ZodType>;

/** Environment variables of the command-line client. */
export const clientVariables = {
  SIGNALBOX_URL: address.default("http://127.0.0.1:8000").describe("Base URL of the service."),
  SIGNALBOX_API_KEY: z.string().optional().describe("API key for the service."),
} as const satisfies Record<string, z.ZodType>;
const clientSchema = z.object(clientVariables);

export type Variable = keyof typeof variables;
const schema = z.object(variables);
type Parsed = Readonly<z.output<typeof schema>>;

/** The parsed variables by their own names, and what is read from groups of them. */
export interface Config extends Parsed {
  /** Raw settings of a plugin's default connection, from `<ID>_<SETTING>`: `ALPHA_API_URL` is `api_url` of alpha. */
  readonly connectionOf: (plugin: string) => Readonly<Record<string, string>>;
  /**
   * Settings of a third-party plugin, from `PLUGIN_<ID>__<SETTING>`. Two underscores end the id: with one, `acme` could read the
   * variable `PLUGIN_ACME_CORP_TOKEN` of `acme-corp`.
   */
  readonly pluginSettingsOf: (plugin: string) => Readonly<Record<string, string>>;
  /** Variables that begin with `PLUGIN_` and are not read, because the two underscores are missing. */
  readonly unreadPluginVariables: readonly string[];
  /** Variables that are probably misspelled. */
  readonly mistyped: readonly Mistyped[];
  /** Every variable with its value in effect, without secrets. */
  readonly settings: readonly Setting[];
  /** Standard error is a terminal, and neither NO_COLOR nor CI is set. */
  readonly terminal: boolean;
  /** `npm start` started it, and is its parent. */
  readonly startedByNpm: boolean;
}

export { ConfigError, isSecret } from "./environment.ts";

/** The service cannot start, for a reason that is the operator's to mend: one line that says it. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** Reads `.env` (where present) and the environment, which wins. Throws a `ConfigError` with one line per problem. */
export function readConfig(environment: Environment = process.env, file = ".env"): Config {
  const merged = readEnvironment(environment, file);
  const parsed = parse(schema, { ...uncheckedLimit(merged), ...merged });
  const given = { environment: new Set(Object.keys(environment).filter((name) => environment[name]?.trim())), merged };
  return Object.freeze({
    ...parsed,
    settings: settingsOf(variables, parsed, given),
    connectionOf: (plugin: string) => withPrefix(merged, `${plugin.toUpperCase().replaceAll("-", "_")}_`),
    pluginSettingsOf: (plugin: string) => withPrefix(merged, `PLUGIN_${plugin.toUpperCase().replaceAll("-", "_")}__`),
    unreadPluginVariables: Object.keys(merged).filter((name) => name.startsWith("PLUGIN_") && !/__|^PLUGIN_WALLS$/.test(name)),
    mistyped: mistypedIn(Object.keys(merged), [...Object.keys(variables), ...Object.keys(clientVariables)]),
    terminal: process.stderr.isTTY === true && !merged.CI,
    startedByNpm: environment.npm_package_name === "signalbox" && /^start\b/.test(environment.npm_lifecycle_event ?? ""),
  });
}

/** The same for the command line, which needs nothing of the service's own configuration. */
export const readClientConfig = (environment: Environment = process.env, file = ".env"): z.output<typeof clientSchema> =>
  parse(clientSchema, readEnvironment(environment, file));

/** Whether the caller named the service that the command line asks. */
export const isServiceNamed = (environment: Environment = process.env, file = ".env"): boolean =>
  readEnvironment(environment, file).SIGNALBOX_URL !== undefined;

/** A larger or smaller MAX_WEBHOOK_BYTES is meant for every webhook. */
const uncheckedLimit = ({ MAX_WEBHOOK_BYTES: given }: Readonly<Record<string, string>>) =>
  variables.MAX_WEBHOOK_BYTES.safeParse(given).success && given !== undefined ? { MAX_UNCHECKED_WEBHOOK_BYTES: given } : {};

function isNetwork(text: string): boolean {
  try {
    parseNetworks([text]);
    return true;
  } catch {
    return false;
  }
}

/** 32 bytes, as 64 hexadecimal digits or base64 (also its URL alphabet). */
export const isEncryptionKey = (text: string): boolean =>
  /^[0-9a-f]{64}$/i.test(text) || /^[A-Za-z0-9+/]{43}=?$|^[A-Za-z0-9_-]{43}=?$/.test(text);
