import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startModel } from "../../examples/demo/model.ts";
import { freshDatabase } from "../harness/databases.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { refusedStart } from "../harness/refused-start.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

test("a proxy without a scheme stops the start, and is not shown", async () => {
  // As curl accepts it.
  const { code, logs } = await refusedStart({ NODE_USE_ENV_PROXY: "true", HTTPS_PROXY: "user:hunter2@proxy.corp:3128" });
  expect([code, logs.trim()]).toEqual([
    1,
    "Invalid configuration:\nHTTPS_PROXY: must be a URL such as http://proxy.example.com:3128",
  ]);
});

test("the proxies in .env are used, like those in the environment", { timeout: 120_000 }, async () => {
  const hosts: string[] = [];
  const proxy = createServer((socket) => {
    socket
      .on("error", () => {})
      .once("data", (bytes) => {
        hosts.push(/^\w+ (?:http:\/\/)?([^:/ ]+)/.exec(String(bytes))?.[1] ?? "");
        socket.destroy();
      });
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  await using service = await startService({ env: { LLM_BASE_URL: "http://model.invalid/v1", EMBEDDING_PROVIDER: "local" } });
  await service.stop();
  const { port } = proxy.address() as AddressInfo;
  writeFileSync(join(service.folder, ".env"), `NODE_USE_ENV_PROXY=true\nHTTP_PROXY=http://127.0.0.1:${port}\n`);
  await service.restart();
  await service.get("/api/status");
  await eventually(() => hosts.includes("model.invalid"));
  proxy.close();
});

const checkOf = async (service: Service, name: string) => {
  const { body } = await service.get<{ checks: { name: string; state: string; message: string }[] }>("/api/status");
  return body.checks.find((one) => one.name === name && one.state !== "unknown");
};

// Deno's errors do not say whether the proxy or the host refused.
test("a proxy that refuses, or does not run, is named", { timeout: 120_000, tags: ["node"] }, async () => {
  const proxy = createServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"));
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  const env = {
    NODE_USE_ENV_PROXY: "true",
    HTTP_PROXY: `http://127.0.0.1:${port}`,
    LLM_BASE_URL: "http://model.invalid/v1",
    EMBEDDING_PROVIDER: "local",
    ALPHA_API_URL: "http://tracker.invalid",
    ALPHA_TOKEN: "tracker-token",
  };
  await using service = await startService({ env });
  expect(await eventually(() => checkOf(service, "model"))).toMatchObject({ state: "failed" });
  const refused = await eventually(() => checkOf(service, "connection:alpha"));
  expect(refused?.message).toContain("the proxy answered 407: it does not accept");
  expect((await checkOf(service, "model"))?.message).toContain("the proxy answered 407: it does not accept");
  await service.stop();
  proxy.close();
  await service.restart();
  const absent = await eventually(() => checkOf(service, "model"));
  expect(absent?.message).toContain(`the proxy 127.0.0.1:${port} could not be reached: connect ECONNREFUSED`);
});

test("no proxy is used for the networks in NO_PROXY", { timeout: 120_000 }, async () => {
  const model = await startModel();
  const env = {
    NODE_USE_ENV_PROXY: "true",
    HTTP_PROXY: "http://127.0.0.1:9",
    NO_PROXY: "10.0.0.0/8, 127.0.0.0/8",
    LLM_BASE_URL: model.url,
  };
  await using service = await startService({ env });
  expect(await eventually(() => checkOf(service, "model"))).toMatchObject({ state: "ok" });
  await model.close();
});

test("a DIRECT_DATABASE_URL of another database stops the start, and that database stays as it is", {
  tags: ["postgres"],
}, async () => {
  await using database = await freshDatabase("migrated");
  await using other = await freshDatabase();
  const nameOf = (url: string) => new URL(url).pathname.slice(1);
  const { host } = new URL(database.url);
  const { code, logs } = await refusedStart({ DATABASE_URL: database.url, DIRECT_DATABASE_URL: other.url });
  expect([code, logs.trim()]).toEqual([
    1,
    `DIRECT_DATABASE_URL: must be the database of DATABASE_URL, without its pooler; it is the database "${nameOf(other.url)}" at ${host}, and DATABASE_URL is the database "${nameOf(database.url)}" at ${host}`,
  ]);
  const migrate = run(runtimeUnderTest(), "runtime/cli/main.ts", {
    args: ["migrate"],
    cwd: tmpdir(),
    env: { DATABASE_URL: other.url },
  });
  await migrate.ended;
  expect(migrate.logs()).toMatch(/^\d\d+ migrations applied\.$/m);
  const missing = await refusedStart({
    DATABASE_URL: database.url,
    DIRECT_DATABASE_URL: "postgres://user:hunter2@127.0.0.1:9/none",
    DATABASE_WAIT_SECONDS: "0",
  });
  expect([missing.code, missing.logs.trim()]).toEqual([
    1,
    expect.stringMatching(/^DIRECT_DATABASE_URL: the database does not answer: .*ECONNREFUSED/),
  ]);
  const alone = await refusedStart({ DIRECT_DATABASE_URL: database.url });
  expect([alone.code, alone.logs]).toEqual([1, expect.stringContaining("DIRECT_DATABASE_URL: requires DATABASE_URL.")]);
});

test("a HOST of another machine is named, not the port", async () => {
  // Reserved for documentation, so no machine has it.
  const { code, logs } = await refusedStart({ HOST: "192.0.2.1" });
  const reason = runtimeUnderTest() === "deno" ? /^HOST: cannot listen .*EINVAL/ : /^HOST: cannot listen .*EADDRNOTAVAIL/;
  expect([code, logs.trim().split("\n").at(-1)]).toEqual([1, expect.stringMatching(reason)]);
});
