import { isIP } from "node:net";
import { z } from "zod";
import {
  address,
  databaseUrl,
  integer,
  isEncryptionKey,
  isTemplateValue,
  items,
  list,
  networks,
  yesNo,
} from "../config-values.ts";
import { logLevels } from "../log.ts";

/** Addresses, storage, access and observability of the service. */
export const service = {
  PORT: integer(8000, 0, 65535).describe("Port of the HTTP API and the webhooks."),
  GRPC_PORT: integer(9090, 0, 65535).describe("Port of the gRPC gateway."),
  HOST: z
    .string()
    .refine((host) => isIP(host) > 0 || /^[\w.-]+$/.test(host), "must be an IP address or a host name, without a port")
    .optional()
    .describe("Address to listen on. Default: 127.0.0.1 if there are no API keys when the service starts, otherwise 0.0.0.0."),
  PUBLIC_URL: address
    .refine((url) => !url.includes("?"), "must be a URL without a query")
    .optional()
    .describe(
      "URL, including the path, at which browsers reach a service behind a reverse proxy. Default: the address of the request.",
    ),
  DATABASE_URL: databaseUrl
    .optional()
    .describe("URL of a PostgreSQL database, version 15 or newer with pgvector. Default: the embedded database in `DATA_DIR`."),
  DIRECT_DATABASE_URL: databaseUrl
    .optional()
    .describe(
      "URL of the same database without a pooler. Set it if `DATABASE_URL` points to a pooler in transaction mode, for example PgBouncer: migrations, locks and notifications need a session.",
    ),
  REPLICA_BUS: z
    .enum(["postgres", "redis", "polling"])
    .default("postgres")
    .describe(
      "How replicas learn of changes. `postgres`: LISTEN and NOTIFY; `redis`: channels of `REDIS_URL`; `polling`: each replica checks for changes every two seconds, for a PostgreSQL without LISTEN.",
    ),
  DATABASE_WAIT_SECONDS: integer(20, 0, 3600).describe(
    "Seconds that the service waits for PostgreSQL at startup before it fails. The timer restarts each time that PostgreSQL answers. 0: do not wait.",
  ),
  DATA_DIR: z.string().default("./data").describe("Folder of the embedded database."),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: "must be a redis:// or rediss:// URL", abort: true })
    .refine((url) => new URL(url).hostname !== "", {
      error: "must name a host, for example redis://127.0.0.1:6379",
      abort: true,
    })
    .refine((url) => /^\/?\d*$/.test(new URL(url).pathname), "must end with the number of a database, or with no path")
    .optional()
    .describe(
      "URL of the Redis server for short-term memories and rate limits, without cluster mode. Default: redis://127.0.0.1:6379 if a server responds there when the service starts, otherwise the database.",
    ),
  SIGNALBOX_ROLE: z
    .enum(["all", "api", "worker"])
    .default("all")
    .describe(
      "What the process does. `api`: serve requests; `worker`: process executions and serve only `/health`; `all`: both.",
    ),
  // A template with empty variables must not make the API public.
  API_KEYS: items
    .refine((keys) => keys.length > 0, "contains no key; unset it to use no API keys")
    .refine(
      (keys) => keys.every((key) => key.length >= 16),
      "contains a key of fewer than 16 characters; create one with: openssl rand -hex 32",
    )
    // A placeholder that was not replaced is a key that anyone can guess; the other characters cannot be sent in a header.
    .refine(
      (keys) => keys.every((key) => /^(?!\$\{)[!-~]+$/.test(key) && !isTemplateValue(key)),
      "contains a key with a space or a character that is not ASCII, or a placeholder; create one with: openssl rand -hex 32",
    )
    .default([])
    .describe(
      "API keys with all scopes, comma-separated. Default: none; the API is then open and the service listens on 127.0.0.1.",
    ),
  MAX_BODY_BYTES: integer(1_048_576, 1024, 1 << 30).describe("Maximum size of an API request body, in bytes."),
  MAX_WEBHOOK_BYTES: integer(26_214_400, 1024, 1 << 30).describe("Maximum size of a webhook body, in bytes."),
  MAX_UNCHECKED_WEBHOOK_BYTES: integer(5_242_880, 1024, 1 << 30).describe(
    "Maximum size of a webhook body that needs no secret or signature, in bytes. Default: `MAX_WEBHOOK_BYTES` if set, otherwise 5 MiB.",
  ),
  MAX_CONNECTIONS: integer(10_000, 10, 1_000_000).describe(
    "Maximum number of connections to `PORT`. Above it, the connection that has gone longest without a request is closed.",
  ),
  MAX_INFLIGHT_BODY_BYTES: integer(268_435_456, 1024, 2 ** 40).describe(
    "Maximum total size of all request bodies in memory, in bytes. Further requests are answered with 503.",
  ),
  ENCRYPTION_KEY: items
    .refine((keys) => keys.length > 0, "contains no key; unset it to store no credentials")
    .refine(
      (keys) => keys.every(isEncryptionKey),
      "must be 32 bytes as 64 hexadecimal digits or as base64; separate several keys with commas",
    )
    .default([])
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
      "DNS names that requests can use while there are no API keys, comma-separated. IP addresses, `localhost` and names without a dot are always allowed.",
    ),
  TRUSTED_PROXIES: networks.describe("Networks of the reverse proxies whose `X-Forwarded-For` is trusted, comma-separated."),
  ALLOW_PRIVATE_ADDRESSES: networks.describe("Private networks that user-supplied URLs can reach, comma-separated."),
  LOG_LEVEL: z
    .string()
    .toLowerCase()
    .pipe(z.enum(logLevels))
    .default("info")
    .describe(
      "Minimum level of log lines: `debug`, `info`, `warn` or `error`. `debug` also logs the method, host, status and duration of each outgoing HTTP request.",
    ),
  LOG_FORMAT: z
    .enum(["json", "text"])
    .optional()
    .describe("Format of the log: one JSON object per line, or text. Default: `text` on a terminal, otherwise `json`."),
  METRICS_OPEN: yesNo(false).describe("Whether GET /metrics needs no API key for callers on the same machine."),
  OTEL_EXPORTER_OTLP_ENDPOINT: address
    .optional()
    .describe("Base URL of an OpenTelemetry collector (OTLP over HTTP). Default: none; no traces are recorded."),
  OTEL_SERVICE_NAME: z.string().default("signalbox").describe("Service name in traces."),
  OTEL_CAPTURE_CONTENT: yesNo(false).describe(
    "Whether traces contain prompts, answers, and tool arguments and results, which may be confidential.",
  ),
  NODE_USE_ENV_PROXY: yesNo(false).describe(
    "Whether requests to models and trackers use the proxies in `HTTP_PROXY` and `HTTPS_PROXY`, except to the hosts and networks in `NO_PROXY`. Addresses that are entered over the API, for example of MCP servers and wikis, are contacted directly.",
  ),
  GRPC_TLS_CERT: z
    .string()
    .optional()
    .describe("PEM file with the TLS certificate of the gRPC port. Default: none; the port uses h2c, without TLS."),
  GRPC_TLS_KEY: z.string().optional().describe("PEM file with the private key for `GRPC_TLS_CERT`."),
} as const satisfies Record<string, z.ZodType>;
