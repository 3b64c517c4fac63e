import http2 from "node:http2";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

let open: Service;
let keyed: Service;
beforeAll(async () => {
  // On an address that other machines can reach, as in a container.
  [open, keyed] = await Promise.all([
    startService({ env: { HOST: "0.0.0.0", ALLOWED_HOSTS: "signalbox.example.com" } }),
    startService({ env: { API_KEYS: "the-key-of-the-operator", HOST: "127.0.0.1" } }),
  ]);
}, 120_000);
afterAll(() => Promise.all([open?.close(), keyed?.close()]));

/** Sends a request exactly as written, which no client library would do, and returns its status. */
const raw = (service: Service, target: string, headers: readonly string[], method = "GET") =>
  new Promise<{ status: number; text: string }>((done, fail) => {
    const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk) => {
      text += chunk;
    });
    socket.once("error", fail).once("close", () => done({ status: Number(text.split(" ")[1]), text }));
    socket.write(
      `${[`${method} ${target} HTTP/1.1`, ...headers, "Connection: close", "Content-Length: 0"].join("\r\n")}\r\n\r\n`,
    );
  });
/** The status of a call on the other port; `null` if the stream was reset. */
const http2StatusOf = (service: Service, path: string, authority: string) =>
  new Promise<number | null>((done) => {
    const session = http2.connect(`http://127.0.0.1:${service.grpcPort}`);
    const end = (status: number | null) => {
      session.destroy();
      done(status);
    };
    const asked = { ":method": "POST", ":path": path, ":authority": authority, "content-type": "application/grpc" };
    session.once("error", () => end(null));
    session
      .request(asked)
      .once("response", (headers) => end(Number(headers[":status"])))
      .once("error", () => end(null))
      .once("close", () => end(null))
      .end();
  });
const statusOf = async (...asked: Parameters<typeof raw>) => (await raw(...asked)).status;

describe("without API keys, on any address", () => {
  const rebound = ["Host: rebound.example"];
  test.each([
    "/api/agents",
    "/webhook/../api/agents",
    "/docs/%2e%2e/api/agents",
    "/webhook/%2E%2e/api/keys",
    "/docs/.%2e/api/agents",
    "/health/../api/agents",
    "/webhook/a/../../api/agents",
    "//api/agents",
    "/mcp",
    "/docs\\..\\api\\agents",
  ])("%s under a foreign name is refused", async (target) => {
    expect(await statusOf(open, target, rebound)).toBe(403);
  });
  test.each(["rebound.example", "127.0.0.1.rebound.example", "a.signalbox.example.com", "rebound.example."])(
    "the name %s is refused for the API, not for /health",
    async (name) => {
      expect(await statusOf(open, "/api/agents", [`Host: ${name}`])).toBe(403);
      expect(await statusOf(open, "/health", [`Host: ${name}`])).toBe(200);
    },
  );
  test.each(["signalbox.example.com", "signalbox", "signalbox:8000", "192.0.2.7", "[2001:db8::1]:8000", "localhost:1"])(
    "the name %s is served",
    async (name) => expect(await statusOf(open, "/api/agents", [`Host: ${name}`])).toBe(200),
  );
  test.each(["http://localhost:1", "http://127.0.0.1:1", "http://evil.example", "null"])(
    "a page of %s may not write",
    async (origin) =>
      expect(await statusOf(open, "/api/agents/seed", ["Host: localhost", `Origin: ${origin}`], "POST")).toBe(403),
  );
});

describe("with and without keys", () => {
  test.each([
    ["two hosts", "/health", ["Host: localhost", "Host: rebound.example"]],
    ["the same host twice", "/health", ["Host: localhost", "Host: localhost"]],
    ["an address of another name", "http://rebound.example/health", ["Host: localhost"]],
    ["an address of another port", "http://localhost:1/health", ["Host: localhost:2"]],
    ["a target that is no path", "rebound.example:80", ["Host: localhost"]],
  ])("%s is 400", async (_, target, headers) => {
    for (const service of [open, keyed]) expect(await statusOf(service, target, headers)).toBe(400);
  });
  test.each(["[", "a b", "localhost:99999", "%", "me@localhost", "localhost/x", "localhost?x", "[::1%25eth0]", ""])(
    "the host %j is 400, for calls of the gateway too, and ends nothing",
    async (host) => {
      const call = "/signalbox.gateway.v1.AgentGateway/RegisterAgent";
      for (const target of ["/docs", "/api/agents", call, `${call}?x`, "/grpc.health.v1.Health/Check"]) {
        expect(await statusOf(keyed, target, [`Host: ${host}`, "Content-Type: application/json"], "POST")).toBe(400);
        expect([200, 401, 403, 404, 405, 415]).not.toContain(await http2StatusOf(keyed, target, host));
      }
      expect(await statusOf(keyed, "/health", ["Host: localhost"])).toBe(200);
    },
  );
  test("an address of the host that the header names is served", async () => {
    expect(await statusOf(open, "http://localhost/health", ["Host: localhost"])).toBe(200);
  });
  test.each(["/health", "/docs", "/openapi.json", "/api/agents", "/nowhere", "/webhook/none", "/mcp"])(
    "the answer of %s is of its own type only, and in no frame",
    async (target) => {
      for (const service of [open, keyed]) {
        const { text } = await raw(service, target, ["Host: localhost"]);
        expect(text).toMatch(/^x-content-type-options: nosniff\r$/im);
        expect(text).toMatch(/^x-frame-options: DENY\r$/im);
      }
    },
  );
  test.each<[string, string, readonly string[], string?]>([
    ["a foreign page", "/api/agents/seed", ["Host: localhost", "Origin: https://evil.example"], "POST"],
    ["a foreign host", "http://rebound.example/health", ["Host: localhost"]],
    ["a method that is not taken", "/api/agents", ["Host: localhost"], "PATCH"],
    ["the console", "/", ["Host: localhost", "Accept: text/html"]],
    ["the metrics", "/metrics", ["Host: localhost"]],
    ["a login", "/console/session", ["Host: localhost", "Content-Type: application/json"], "POST"],
    [
      "a call of the gateway",
      "/signalbox.gateway.v1.AgentGateway/RegisterAgent",
      ["Host: localhost", "Content-Type: application/json"],
      "POST",
    ],
    ["a route of a plugin", "/plugins/none/none", ["Host: localhost"]],
    ["bytes that are no HTTP", "/ HTTP/9", ["Host: localhost"]],
    ["headers of more than 16 KiB", "/health", ["Host: localhost", `X-Long: ${"x".repeat(20_000)}`]],
  ])("so is the answer to %s", async (_, target, headers, method) => {
    for (const service of [open, keyed]) {
      const { text } = await raw(service, target, headers, method);
      expect(text).toMatch(/^HTTP\/1\.1 [2345]/);
      expect(text).toMatch(/^x-content-type-options: nosniff\r$/im);
      expect(text).toMatch(/^x-frame-options: DENY\r$/im);
    }
  });
  test.each<[string, string, readonly string[], string]>([
    ["an unknown expectation", "/health", ["Host: localhost", "Expect: a-miracle"], "417"],
    ["a target that is no path", "*", ["Host: localhost"], "400"],
  ])("so is the answer to %s, and it says what is wrong", async (_, target, headers, status) => {
    for (const service of [open, keyed]) {
      const { text } = await raw(service, target, headers, "OPTIONS");
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(text).toMatch(/^x-content-type-options: nosniff\r$/im);
      expect(text).toMatch(/\{"error":".+"\}/);
    }
  });
  test("so are streams of events and the answers of the other port", async () => {
    const stop = new AbortController();
    const events = await fetch(`${open.url}/api/events`, { signal: stop.signal });
    stop.abort();
    const session = http2.connect(`http://127.0.0.1:${open.grpcPort}`);
    const asked = ["/signalbox.api.v1.AgentService/ListAgents", "/none"].map(
      (path) =>
        new Promise<http2.IncomingHttpHeaders>((done, fail) => {
          const request = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
          request.once("response", done).once("error", fail).resume().end("{}");
        }),
    );
    for (const headers of [Object.fromEntries(events.headers), ...(await Promise.all(asked))])
      expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "x-frame-options": "DENY" });
    session.destroy();
  });
  test("HTML has a policy without other hosts and inline scripts", async () => {
    const policy = (await fetch(`${open.url}/docs`)).headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/default-src 'none'/);
    expect(policy).toMatch(/frame-ancestors 'none'/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });
});

test("a login of the console ends with its key, and writes for its own pages only", async () => {
  const admin = { authorization: "Bearer the-key-of-the-operator" };
  const made = await keyed.post<{ id: number; key: string }>("/api/keys", { name: "k", scopes: ["write"] }, { headers: admin });
  const own = { origin: keyed.url };
  const login = await keyed.post("/console/session", { key: made.body.key }, { headers: own });
  const [cookie = "", ...attributes] = (login.headers.get("set-cookie") ?? "").split("; ");
  expect(attributes).toEqual(expect.arrayContaining(["HttpOnly", "SameSite=Strict", "Path=/"]));
  const seed = async (headers: Record<string, string>) =>
    (await keyed.post("/api/agents/seed", {}, { headers: { cookie, ...headers } })).status;
  const foreign = [{ origin: "http://127.0.0.1:1" }, { ...own, "sec-fetch-site": "same-site" }, {}];
  expect(await Promise.all(foreign.map(seed))).toEqual([403, 403, 403]);
  expect(await seed(own)).toBe(200);
  expect((await keyed.del(`/api/keys/${made.body.id}`, { headers: admin })).status).toBe(204);
  expect((await keyed.get("/api/agents", { headers: { cookie } })).status).toBe(401);
  const refused = await keyed.post("/console/session", { key: made.body.key }, { headers: own });
  expect(refused).toMatchObject({ status: 401, body: { error: expect.stringContaining("was revoked") } });
  await eventually(() => keyed.logs().includes(`"key":"${made.body.key.slice(0, 8)}…"`));
});

test("addresses of this machine are taken until there is a key, also by a service that started without one", async () => {
  await using local = await startService({ env: { ENCRYPTION_KEY: "00".repeat(32) } });
  const statuses = async (authorization: string) => {
    const own = (url: string, i: number) =>
      local.post("/api/mcp-servers", { name: `own-${Date.now()}-${i}`, url }, { headers: { authorization } });
    const urls = [
      "http://127.0.0.1:9/mcp",
      "http://localhost:9/mcp",
      "http://2130706433:9/mcp",
      "http://[::ffff:127.0.0.1]:9/mcp",
    ];
    return (await Promise.all(urls.map(own))).map(({ status }) => status);
  };
  expect(await statuses("")).toEqual([201, 201, 201, 201]);
  const made = await local.post<{ key: string }>("/api/keys", { name: "first", scopes: ["admin"] });
  expect(await statuses(`Bearer ${made.body.key}`)).toEqual([400, 400, 400, 400]);
});
