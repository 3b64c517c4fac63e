import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { z } from "zod";
import { parseNetworks } from "./network/networks.ts";

const whole = (fallback: number, min: number, max: number) =>
  z
    .string()
    .refine(
      (text) => /^-?\d+$/.test(text) && Number(text) >= min && Number(text) <= max,
      `must be a whole number from ${min} to ${max}`,
    )
    .transform(Number)
    .default(fallback);
const yesNo = (fallback: boolean) =>
  z
    .enum(["true", "false", "1", "0", "yes", "no"])
    .transform((word) => ["true", "1", "yes"].includes(word))
    .default(fallback);
const items = z.string().transform((value) =>
  value
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean),
);
const list = items.default([]);
const networks = list.refine(
  (given) => given.every((one) => isNetwork(one)),
  "must be networks such as 10.0.0.0/8 or fd00::/8, comma-separated",
);
const address = z.url({ protocol: /^https?$/, error: "must be an http or https address" });

/** Every variable that the service reads: its schema, its default and what it is for. `configuration.md` is made from this. */
export const variables = {
  PORT: whole(8000, 0, 65535).describe("Port of the HTTP API and of the webhooks."),
  GRPC_PORT: whole(9090, 0, 65535).describe("Port of the gRPC gateway (h2c)."),
  HOST: z
    .string()
    .optional()
    .describe("Address to listen on. Without it 127.0.0.1 while there are no API keys at start, else 0.0.0.0."),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: "must be a postgres:// address" })
    .optional()
    .describe("PostgreSQL 15 or newer with pgvector. Without it the embedded database serves."),
  DATA_DIR: z.string().default("./data").describe("Folder of the embedded database."),
  LLM_BASE_URL: address.optional().describe("OpenAI-compatible API, with its /v1."),
  LLM_API_KEY: z.string().optional().describe("Key for it."),
  LLM_MODEL: z.string().default("gpt-4o-mini").describe("Model of agents that name none."),
  LLM_TIMEOUT_SECONDS: whole(120, 1, 3600).describe("Deadline of one LLM call."),
  LLM_MAX_TOOL_ROUNDS: whole(5, 0, 100).describe("LLM requests with tools in one execution; one more without them follows."),
  EMBEDDING_PROVIDER: z
    .enum(["proxy", "local"])
    .optional()
    .describe(
      "`proxy`: the LLM's API makes the vectors; `local`: feature hashing, without a model. By default `proxy` where LLM_BASE_URL is set.",
    ),
  EMBEDDING_MODEL: z.string().default("text-embedding-3-small").describe("Embedding model of the LLM's API."),
  EMBEDDING_DIMENSION: whole(1536, 1, 16_000).describe("Length of the vectors; must be what the embedding model makes."),
  MEMORY_SEARCH_LIMIT: whole(10, 0, 100).describe("Most memories that are put into a prompt."),
  MEMORY_TOP_K: whole(10, 1, 1000).describe("Results of a memory search that names no limit."),
  MEMORY_STORE: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,62}$/, "must be the name of a memory store, for example pgvector")
    .default("pgvector")
    .describe("Store of long-term memories: `pgvector`, or one that a plugin of SIGNALBOX_PLUGINS brings."),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: "must be a redis:// or rediss:// address" })
    .optional()
    .describe("Redis for short-term memories and rate limits. Without it redis://127.0.0.1:6379 is tried once at the start."),
  REDIS_MEMORY_TTL: whole(3600, 1, 315_360_000).describe("Lifetime of short-term memories that name none, seconds."),
  PGVECTOR_DISTANCE_METRIC: z.enum(["cosine", "l2", "ip"]).default("cosine").describe("How the distance of vectors is measured."),
  PGVECTOR_INDEX: z.enum(["hnsw", "ivfflat"]).default("hnsw").describe("Index on the vectors."),
  PGVECTOR_IVFFLAT_PROBES: whole(10, 1, 32_768).describe(
    "ivfflat: lists that a search looks into; more find more and take longer.",
  ),
  KNOWLEDGE_SYNC_MINUTES: whole(60, 0, 525_600).describe(
    "Minutes between two syncs of an enabled knowledge source; 0: on demand only.",
  ),
  TRACKER_UPDATES_ENABLED: yesNo(true).describe("`false` turns every write at a tracker into a recorded dry run."),
  WORKER_CONCURRENCY: whole(16, 1, 1024).describe("Executions that one replica runs at the same time."),
  SIGNALBOX_ROLE: z
    .enum(["all", "api", "worker"])
    .default("all")
    .describe("`api` serves only; `worker` only runs executions, and answers `/health`."),
  SIGNALBOX_PLUGINS: list.describe(
    "Further plugins: package names or paths of folders or modules, comma-separated. They run sandboxed; see sdk/README.md.",
  ),
  SIGNALBOX_TRUSTED_PLUGINS: list
    .refine(
      (all) => all.every((one) => /^[a-z][a-z0-9-]*@\d+\.\d+\.\d+[\w.+-]*#[0-9a-f]{64}$/.test(one)),
      "must be plugins such as clock@1.0.0#<SHA-256 of the bundle>, comma-separated",
    )
    .describe("Plugins that run in the service's own process, with all that it may do: id@version#sha256, comma-separated."),
  SIGNALBOX_DENO: z.string().optional().describe("Path of the Deno binary that runs plugins. Found by itself without."),
  UNREAD_WEBHOOK_TTL: whole(604_800, 1, 315_360_000).describe(
    "How long a webhook waits for a sandboxed plugin that is away, seconds; then its event is stored as discarded.",
  ),
  // A template whose variables were empty must not open the API.
  API_KEYS: items
    .refine((keys) => keys.length > 0, "holds no key between its commas; leave it unset to have none")
    .default([])
    .describe("Keys that may do everything, comma-separated. Without any key the API is open on loopback."),
  MAX_BODY_BYTES: whole(1_048_576, 1024, 1 << 30).describe("Largest body of the API."),
  MAX_WEBHOOK_BYTES: whole(26_214_400, 1024, 1 << 30).describe("Largest body of a webhook."),
  EXECUTION_RETRY_LIMIT: whole(2, 0, 100).describe("How often an execution that failed for a passing reason is tried again."),
  EXECUTION_RETRY_DELAY_SECONDS: whole(5, 0, 86_400).describe("Wait before the first of these tries; doubles with each."),
  EXECUTION_LEASE_SECONDS: whole(30, 2, 3600).describe(
    "After this long without a sign of life a worker's executions go to another.",
  ),
  ENCRYPTION_KEY: list
    .refine(
      (keys) => keys.every(isEncryptionKey),
      "must be 32 bytes as 64 hexadecimal digits or as base64; several comma-separated",
    )
    .describe(
      "Encrypts stored credentials: 32 bytes as hex or base64. Several, comma-separated: the first encrypts, all decrypt.",
    ),
  TRUSTED_PROXIES: networks.describe("Networks of the proxies whose `X-Forwarded-For` is believed, comma-separated."),
  ALLOW_PRIVATE_ADDRESSES: networks.describe("Networks that addresses given by users may lead to although they are not public."),
  WATCHDOG_ENABLED: yesNo(false).describe("Keeps what the watchdog notices, for GET /api/watchdog."),
  NODE_USE_ENV_PROXY: yesNo(false).describe(
    "Requests to models and trackers go through the proxies that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name, as Node's own do.",
  ),
  GRPC_TLS_CERT: z.string().optional().describe("File with the certificate of the gRPC port, PEM. Without it h2c."),
  GRPC_TLS_KEY: z.string().optional().describe("File with its key, PEM."),
  RATE_LIMIT_DEFAULT: whole(60, 1, 1_000_000).describe("Gateway calls a minute of an agent with the trust level default."),
  RATE_LIMIT_TRUSTED: whole(300, 1, 1_000_000).describe("The same for trusted."),
  RATE_LIMIT_PRIVILEGED: whole(1200, 1, 1_000_000).describe("The same for privileged."),
  ALPHA_TOKEN: z.string().optional().describe("alpha: token with write permission on issues."),
  ALPHA_API_URL: address.optional().describe("alpha: address of the API; default https://api.github.com."),
  ALPHA_WEBHOOK_SECRET: z.string().optional().describe("alpha: secret of the webhook's signature."),
  BETA_URL: address.optional().describe("beta: address of the server; default https://gitlab.com."),
  BETA_TOKEN: z.string().optional().describe("beta: token with the scope api; webhooks must carry it while no secret is set."),
  BETA_WEBHOOK_SECRET: z.string().optional().describe("beta: secret token of the webhook."),
  GAMMA_URL: address.optional().describe("gamma: address of the site."),
  GAMMA_EMAIL: z.string().optional().describe("gamma: e-mail of the account; Server: user name, where the token is a password."),
  GAMMA_API_TOKEN: z.string().optional().describe("gamma: API token of the account; Server: personal access token."),
  GAMMA_IS_CLOUD: yesNo(true).describe("gamma: `false` for Server and Data Center."),
  GAMMA_WEBHOOK_SECRET: z.string().optional().describe("gamma: secret of the webhook's signature."),
  DELTA_API_URL: address.optional().describe("delta: address of the API; default https://api.plane.so."),
  DELTA_API_KEY: z.string().optional().describe("delta: API key of the account; webhooks may carry it in X-API-Key."),
  DELTA_WORKSPACE_SLUG: z.string().optional().describe("delta: slug of the workspace."),
  DELTA_WEBHOOK_SECRET: z.string().optional().describe("delta: secret of the webhook's signature."),
} as const satisfies Record<string, z.ZodType>;

/** What the verbs of the command line read. */
export const clientVariables = {
  SIGNALBOX_URL: address.default("http://127.0.0.1:8000").describe("Address of the service."),
  SIGNALBOX_API_KEY: z.string().optional().describe("API key, where the service wants one."),
} as const satisfies Record<string, z.ZodType>;
const clientSchema = z.object(clientVariables);

export type Variable = keyof typeof variables;
const schema = z.object(variables);
type Parsed = Readonly<z.output<typeof schema>>;

/** The parsed variables by their own names, and what is read from groups of them. */
export interface Config extends Parsed {
  /** Raw settings of a plugin's default connection, from `<ID>_<SETTING>`: `ALPHA_API_URL` is `api_url` of alpha. */
  readonly connectionOf: (plugin: string) => Readonly<Record<string, string>>;
  /** Settings of a plugin that is not ours, from `PLUGIN_<ID>_<SETTING>`: a stranger's id must not name our own variables. */
  readonly foreignSettingsOf: (plugin: string) => Readonly<Record<string, string>>;
  /** Standard error is a terminal, and nobody set NO_COLOR or CI. */
  readonly terminal: boolean;
  /** `npm start` started it, and is its parent. */
  readonly startedByNpm: boolean;
}

export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** The service cannot start, for a reason that is the operator's to mend: one line that says it. */
export class StartError extends Error {
  override readonly name = "StartError";
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads `.env` (where present) and the environment, which wins. Throws a `ConfigError` with one line per problem. */
export function readConfig(environment: Environment = process.env, file = ".env"): Config {
  const merged = readEnvironment(environment, file);
  return Object.freeze({
    ...parse(schema, merged),
    connectionOf: (plugin: string) => withPrefix(merged, `${plugin.toUpperCase().replaceAll("-", "_")}_`),
    foreignSettingsOf: (plugin: string) => withPrefix(merged, `PLUGIN_${plugin.toUpperCase().replaceAll("-", "_")}_`),
    terminal: process.stderr.isTTY === true && !merged.CI,
    startedByNpm: environment.npm_package_name === "signalbox" && /^start\b/.test(environment.npm_lifecycle_event ?? ""),
  });
}

/** The same for the command line, which needs nothing of the service's own configuration. */
export const readClientConfig = (environment: Environment = process.env, file = ".env"): z.output<typeof clientSchema> =>
  parse(clientSchema, readEnvironment(environment, file));

/** Whether somebody said which service the command line asks. */
export const isServiceNamed = (environment: Environment = process.env, file = ".env"): boolean =>
  readEnvironment(environment, file).SIGNALBOX_URL !== undefined;

function readEnvironment(environment: Environment, file: string): Record<string, string> {
  const stored = existsSync(file) ? (parseEnv(readText(file)) as Record<string, string>) : {};
  const merged: Record<string, string> = {};
  for (const [name, value] of [...Object.entries(stored), ...Object.entries(environment)]) {
    // An empty variable is an unset one: compose files and CI systems pass those on.
    if (value !== undefined && value.trim() !== "") merged[name] = value.trim();
  }
  return merged;
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError(`${file}: cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

function parse<S extends z.ZodObject>(known: S, merged: Readonly<Record<string, string>>): z.output<S> {
  const parsed = known.safeParse(merged);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    return `${name}: ${issue.message}${isSecret(name) ? "" : ` (it is ${JSON.stringify(merged[name])})`}`;
  });
  throw new ConfigError(lines.join("\n"));
}

/** Whether a variable's value must never be shown. */
export const isSecret = (name: string): boolean => /KEY|TOKEN|SECRET|PASSWORD|DATABASE_URL|REDIS_URL/.test(name);

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

const withPrefix = (all: Record<string, string>, prefix: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length).toLowerCase(), value]),
  );
