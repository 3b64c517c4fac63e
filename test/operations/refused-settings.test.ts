import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { anyDatabase, freshDatabase } from "../harness/databases.ts";
import { refusedStart } from "../harness/refused-start.ts";

test("bad values stop the start, with one line for each, and secrets are not shown", async () => {
  const { code, logs } = await refusedStart({
    PORT: "eighty",
    GRPC_PORT: "70000",
    DATABASE_URL: "mysql://user:hunter2@db/x",
    LLM_BASE_URL: "ftp://llm",
    LLM_TIMEOUT_SECONDS: "0",
    LLM_MAX_TOOL_ROUNDS: "1e1",
    TRACKER_UPDATES_ENABLED: "maybe",
    BUDGET_RUN_TOKENS: "1e6",
    SIGNALBOX_ROLE: "boss",
    ENCRYPTION_KEY: "hunter2",
    TRUSTED_PROXIES: "10.0.0.0/99",
    API_KEYS: "key-of-an-admin",
    ALLOWED_HOSTS: "https://app.example.com",
    HOST: "127.0.0.1:8000",
    REDIS_URL: "redis://127.0.0.1/main",
    DIRECT_DATABASE_URL: "postgres://user:hunter2@db/x?sslmode=maybe",
    LLM_API_KEY: "hunter2…",
    BETA_URL: "https://gitlab.example.com/#/projects",
    PUBLIC_URL: "https://signalbox.example.com/?page=1",
    MODEL_PRICES: '{"gpt-4o": "cheap"}',
  });
  expect(code).toBe(1);
  const [title, ...lines] = logs.trim().split("\n");
  expect(title).toBe("Invalid configuration:");
  expect(lines.map((line) => line.split(":")[0]).sort()).toEqual([
    "ALLOWED_HOSTS",
    "API_KEYS",
    "BETA_URL",
    "BUDGET_RUN_TOKENS",
    "DATABASE_URL",
    "DIRECT_DATABASE_URL",
    "ENCRYPTION_KEY",
    "GRPC_PORT",
    "HOST",
    "LLM_API_KEY",
    "LLM_BASE_URL",
    "LLM_MAX_TOOL_ROUNDS",
    "LLM_TIMEOUT_SECONDS",
    "MODEL_PRICES",
    "PORT",
    "PUBLIC_URL",
    "REDIS_URL",
    "SIGNALBOX_ROLE",
    "TRACKER_UPDATES_ENABLED",
    "TRUSTED_PROXIES",
  ]);
  expect(logs).toContain('"eighty"');
  expect(logs).not.toContain("hunter2");
  expect(logs).not.toContain("key-of-an-admin");
  expect(logs).toContain("fewer than 16 characters");
  expect(logs).toContain('SIGNALBOX_ROLE: must be all, api or worker; it is "boss"');
  // A number of tokens is no secret.
  expect(logs).toMatch(/BUDGET_RUN_TOKENS: must be a whole number from 0 to \d+; it is "1e6"/);
});

test("a database that does not answer stops the start, and its password is not shown", async () => {
  const { code, logs } = await refusedStart({
    DATABASE_URL: "postgres://user:hunter2@127.0.0.1:9/none",
    DATABASE_WAIT_SECONDS: "0",
  });
  expect(code).toBe(1);
  expect(logs.trim()).toMatch(/^DATABASE_URL: the database does not answer: .+$/);
  expect(logs).not.toContain("hunter2");
});

test("a database that is missing stops the start at once", { tags: ["postgres"] }, async () => {
  const url = new URL(process.env.TEST_DATABASE_URL ?? "");
  url.pathname = "/no-such-database";
  const { code, logs } = await refusedStart({ DATABASE_URL: url.href, DATABASE_WAIT_SECONDS: "300" });
  expect(code).toBe(1);
  expect(logs.trim()).toBe('DATABASE_URL: the database refuses connections: database "no-such-database" does not exist');
});

test("a folder that is a file, a port that is taken, files without a certificate and a file that is missing stop the start with one line", async () => {
  const folder = await refusedStart({ DATA_DIR: "./.env" }, "DATABASE_URL=\n");
  expect([folder.code, folder.logs.trim().split("\n").at(-1)]).toEqual([1, expect.stringMatching(/^DATA_DIR: .*EEXIST/)]);
  await using database = anyDatabase() === "postgres" ? await freshDatabase() : null;
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const where = database ? { DATABASE_URL: database.url } : {};
  const busy = await refusedStart({ ...where, HOST: "127.0.0.1", PORT: String(port), ALPHA_WEBHOOKSECRET: "x" });
  taken.close();
  const files = { GRPC_TLS_CERT: "./.env", GRPC_TLS_KEY: "./.env" };
  const noCertificate = await refusedStart({ ...where, HOST: "127.0.0.1", ...files }, "LLM_MODEL=small\n");
  expect(noCertificate.logs.trim().split("\n").at(-1)).toMatch(/^GRPC_TLS_CERT and GRPC_TLS_KEY: .*PEM/);
  const noPrices = await refusedStart({ ...where, HOST: "127.0.0.1", MODEL_PRICES: "./no-prices.json" });
  expect(noPrices.logs.trim().split("\n").at(-1)).toBe("MODEL_PRICES: must be JSON or the path of a JSON file");
  expect(busy.logs).toContain("ALPHA_WEBHOOKSECRET is not a variable of Signalbox; did you mean ALPHA_WEBHOOK_SECRET?");
  expect(busy.logs).not.toMatch(/migration/i);
  expect([busy.code, busy.logs.trim().split("\n").at(-1)]).toEqual([1, expect.stringMatching(/^PORT: .*EADDRINUSE/)]);
});

test("a pipe or a folder in the place of a file stops the start with one line that names the variable", async () => {
  await using database = anyDatabase() === "postgres" ? await freshDatabase() : null;
  const where = { ...(database && { DATABASE_URL: database.url }), HOST: "127.0.0.1" };
  const folder = mkdtempSync(join(tmpdir(), "signalbox-pipe-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const [aPipe, aFolder] = [`${pipe} is a pipe or a device`, `${folder} is a folder`];
  for (const [settings, line] of [
    [{ MODEL_PRICES: pipe }, `MODEL_PRICES: must name a regular file; ${aPipe}`],
    [{ MODEL_PRICES: folder }, `MODEL_PRICES: must name a regular file; ${aFolder}`],
    [{ GRPC_TLS_CERT: pipe, GRPC_TLS_KEY: pipe }, `GRPC_TLS_CERT: must name a regular file; ${aPipe}`],
    [{ GRPC_TLS_CERT: import.meta.filename, GRPC_TLS_KEY: folder }, `GRPC_TLS_KEY: must name a regular file; ${aFolder}`],
  ] as const) {
    const { code, logs } = await refusedStart({ ...where, ...settings });
    expect([code, logs.trim().split("\n").at(-1)]).toEqual([1, line]);
  }
});

test.each(["/proc/signalbox", "/proc/signalbox/data", "/dev/null/data"])(
  "a folder %s that cannot be created stops the start with one line",
  async (folder) => {
    const { code, logs } = await refusedStart({ DATA_DIR: folder, DATABASE_URL: "", LOG_LEVEL: "warn" });
    expect([code, logs.trim()]).toEqual([1, expect.stringMatching(/^DATA_DIR: the folder cannot be used: .*mkdir '.*'$/)]);
  },
);

test("settings that contradict each other stop the start before it changes anything, with one line for each", async () => {
  const { code, logs } = await refusedStart({
    REPLICA_BUS: "redis",
    EMBEDDING_PROVIDER: "proxy",
    GRPC_TLS_CERT: "./certificate.pem",
    PORT: "18231",
    GRPC_PORT: "18231",
  });
  expect([code, logs.trim().split("\n")]).toEqual([
    1,
    [
      "Invalid configuration:",
      "REPLICA_BUS: redis requires REDIS_URL. Set REDIS_URL, or use postgres or polling.",
      "EMBEDDING_PROVIDER: proxy requires LLM_BASE_URL. Set LLM_BASE_URL, or use local.",
      "GRPC_TLS_CERT and GRPC_TLS_KEY: set both or neither",
      "PORT and GRPC_PORT: must be two different ports; both are 18231",
    ],
  ]);
});

test("a database that the Redis server does not have stops the start", { tags: ["redis"] }, async () => {
  const url = new URL(process.env.TEST_REDIS_URL ?? "");
  await using database = anyDatabase() === "postgres" ? await freshDatabase("migrated") : null;
  url.pathname = "/99999";
  for (const REPLICA_BUS of ["postgres", "redis"]) {
    const where = { ...(database && { DATABASE_URL: database.url }), HOST: "127.0.0.1", REDIS_URL: url.href, REPLICA_BUS };
    const { code, logs } = await refusedStart(where);
    expect([code, logs.trim().split("\n").at(-1)]).toEqual([
      1,
      "REDIS_URL: the server refuses database 99999 (ERR DB index is out of range); name one that it has",
    ]);
  }
});

test("a Redis in cluster mode stops the start", { tags: ["redis"] }, async () => {
  const { hostname, port } = new URL(process.env.TEST_REDIS_URL ?? "");
  // A real server whose answer to INFO says that it is in cluster mode.
  const inCluster = (bytes: Buffer) =>
    Buffer.from(bytes.toString("latin1").replace("cluster_enabled:0", "cluster_enabled:1"), "latin1");
  const proxy = createServer((near) => {
    const far = connect(Number(port || 6379), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const)
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
    near.pipe(far).on("data", (bytes) => near.write(inCluster(bytes)));
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  onTestFinished(() => void proxy.close());
  await using database = anyDatabase() === "postgres" ? await freshDatabase("migrated") : null;
  const { code, logs } = await refusedStart({
    ...(database && { DATABASE_URL: database.url }),
    REDIS_URL: `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
  });
  expect([code, logs.trim().split("\n").at(-1)]).toEqual([
    1,
    "REDIS_URL: the server is in cluster mode, which is not supported; name a Redis without it",
  ]);
});

test("an invalid setting of a source stops the start and is named", async () => {
  const { code, logs } = await refusedStart({ ALPHA_API_URL: "not an address" });
  expect(code).toBe(1);
  expect(logs).toMatch(/ALPHA_API_URL/);
});
