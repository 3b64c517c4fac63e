import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";
import { signature } from "../harness/webhooks.ts";

const secret = "the secret of the webhook";
const operator = "the-key-of-the-operator";
let service: Service;
beforeAll(async () => {
  const env = { WATCHDOG_ENABLED: "true", API_KEYS: operator, HOST: "127.0.0.1", ENCRYPTION_KEY: "00".repeat(32) };
  service = await startService({ seed: true, webhookSecret: secret, apiKey: operator, env });
}, 120_000);
afterAll(() => service?.close());

/** A request of which only the head, and possibly part of the body, has been sent. */
function begin(
  to: Service,
  path: string,
  headers: Record<string, string | number>,
  body = "",
): { socket: Socket; answer: Promise<string> } {
  const socket = connect(Number(new URL(to.url).port), "127.0.0.1");
  const lines = Object.entries({ host: "localhost", ...headers }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
  const answer = new Promise<string>((done) => {
    socket.once("data", (data) => done(String(data)));
    socket.once("error", (error) => done(String(error)));
    socket.once("close", () => done("closed"));
  });
  return { socket, answer };
}
const length = 26_214_400;
const shaped = `sha256=${"0".repeat(64)}`;

describe("before the body is read", () => {
  test.each([
    ["an unknown slug", "/webhook/none", {}, 404],
    ["a missing signature", "/webhook/alpha", {}, 401],
    ["a malformed signature", "/webhook/alpha", { "x-hub-signature-256": "sha256=1" }, 401],
    ["an integration that does not exist", "/webhook/00000000-0000-7000-8000-000000000000", {}, 404],
    ["an unknown path of mappings", "/webhook/none/at/all", {}, 404],
    ["an unknown slug, in chunks", "/webhook/none", { "transfer-encoding": "chunked" }, 404],
    ["a missing signature, in chunks", "/webhook/alpha", { "transfer-encoding": "chunked" }, 401],
    ["an operation without a key", "/api/agents", { "content-type": "application/json" }, 401],
    ["MCP without a key", "/mcp", { "content-type": "application/json" }, 401],
    ["an unknown route of a plugin", "/plugins/none/none", {}, 401],
    ["a path that does not exist", "/none", { "transfer-encoding": "chunked" }, 404],
  ])("%s is refused", async (_, path, headers, status) => {
    const sized = "transfer-encoding" in headers ? {} : { "content-length": length };
    const { socket, answer } = begin(service, path, { ...sized, ...headers });
    expect(await answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
  });

  test.each([
    ["an unknown slug", "/webhook/none", {}, 404],
    ["a missing signature", "/webhook/alpha", {}, 401],
    ["a body that is declared too large", "/webhook/alpha", { "content-length": length + 1, "x-hub-signature-256": shaped }, 413],
    ["an operation without a key", "/api/agents", { "content-type": "application/json" }, 401],
  ])("%s: with Expect: 100-continue, the answer comes before the body", async (_, path, headers, status) => {
    const { socket, answer } = begin(service, path, { "content-length": length, expect: "100-continue", ...headers });
    expect(await answer).toMatch(new RegExp(`^HTTP/1.1 ${status} .*connection: close`, "is"));
    socket.destroy();
  });

  test("with Expect: 100-continue, a webhook with valid headers gets 100 Continue, then its answer", async () => {
    const body = JSON.stringify(issueOpened({ number: 901 }));
    const headers = {
      "content-type": "application/json",
      "x-alpha-event": "issues",
      "x-hub-signature-256": signature(body, secret),
    };
    const { socket, answer } = begin(service, "/webhook/alpha", {
      ...headers,
      "content-length": body.length,
      expect: "100-continue",
    });
    expect(await answer).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    const answered = new Promise((done) => socket.once("data", (data) => done(String(data))));
    socket.write(body);
    expect(await answered).toMatch(/^HTTP\/1.1 202 /);
    socket.destroy();
  });

  test("a client of HTTP/1.0 gets the answer and nothing before it, whatever it expects", async () => {
    const body = JSON.stringify(issueOpened({ number: 902 }));
    const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
    const head = ["POST /webhook/alpha HTTP/1.0", "host: localhost", "expect: 100-continue", `content-length: ${body.length}`];
    head.push("content-type: application/json", "x-alpha-event: issues", `x-hub-signature-256: ${signature(body, secret)}`);
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
    const answer = await new Promise((done) => socket.once("data", (data) => done(String(data))));
    expect(answer).toMatch(/^HTTP\/1\.1 202 /);
    socket.destroy();
  });

  test("a mapping's missing or wrong token is refused", async () => {
    const auth = { method: "token", header: "X-Shop", secret: "the token of the shop" };
    const rules = { event_type: "$.type" };
    const mapping = { source: "shop", path_pattern: "/webhook/shop", canonical_trigger: "a.b", extraction_rules: rules, auth };
    expect((await service.post("/api/webhook-mappings", mapping)).status).toBe(201);
    for (const headers of [{}, { "x-shop": "wrong" }]) {
      const { socket, answer } = begin(service, "/webhook/shop", { "content-length": length, ...headers });
      expect(await answer).toMatch(/^HTTP\/1.1 401 /);
      socket.destroy();
    }
  });

  test("500 requests to unknown slugs on one connection, with bodies that are not sent, hold nothing", async () => {
    const { socket, answer } = begin(service, "/webhook/none", { "content-length": 2 }, "{}");
    expect(await answer).toMatch(/^HTTP\/1.1 404 /);
    const one = "POST /webhook/none HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
    const closed = once(socket.resume(), "close");
    socket.write(one.repeat(500));
    await closed;
    expect((await service.webhook(issueOpened({ number: 900 }))).status).toBe(202);
  });

  test("a body that is declared too large is refused", async () => {
    const { socket, answer } = begin(service, "/webhook/alpha", { "content-length": length + 1, "x-hub-signature-256": shaped });
    expect(await answer).toMatch(/^HTTP\/1.1 413 /);
    socket.destroy();
  });
});

test("bodies in flight have a budget; beyond it the answer is 503, and aborted ones free it again", async () => {
  const env = { MAX_INFLIGHT_BODY_BYTES: "1000000" };
  await using small = await startService({ seed: true, webhookSecret: secret, env });
  const headers = { "content-length": 500_000, "x-hub-signature-256": shaped };
  const sent = Array.from({ length: 5 }, () => begin(small, "/webhook/alpha", headers, "x".repeat(450_000)));
  expect(await Promise.race(sent.map(({ answer }) => answer))).toMatch(/^HTTP\/1.1 503 .*retry-after: 1/is);
  for (const { socket } of sent) socket.destroy();
  await eventually(async () => (await small.webhook(issueOpened())).status === 202);
  // One that is larger than the budget would be refused each time that it is sent.
  for (const path of ["/webhook/alpha", "/api/agents"]) {
    const { socket, answer } = begin(small, path, { ...headers, "content-length": 1_000_001 });
    expect(await answer).toMatch(/^HTTP\/1.1 413 .*larger than 1000000 bytes/is);
    socket.destroy();
  }
});

test("a body that does not arrive within 30 seconds is refused", { timeout: 90_000 }, async () => {
  const { socket, answer } = begin(service, "/webhook/alpha", { "content-length": 1_000, "x-hub-signature-256": shaped }, "{");
  const drip = setInterval(() => socket.write(" "), 1_000);
  expect(await answer).toMatch(/^HTTP\/1.1 408 .*connection: close/is);
  clearInterval(drip);
  socket.destroy();
});

test("a source without a check takes 5 MiB, unless more is set", async () => {
  const account = { DELTA_API_URL: "http://127.0.0.1:9", DELTA_API_KEY: "key", DELTA_WORKSPACE_SLUG: "a" };
  const env = { ...account, BETA_WEBHOOK_SECRET: secret, DELTA_WEBHOOK_SECRET_PREVIOUS: secret };
  await using open = await startService({ env });
  const send = async (slug: string, bytes: number) => {
    const body = JSON.stringify({ padding: "x".repeat(bytes) });
    const headers = { "content-type": "application/json", "x-beta-token": secret };
    return (await fetch(`${open.url}/webhook/${slug}`, { method: "POST", headers, body })).status;
  };
  expect([await send("alpha", 5_000_000), await send("alpha", 5_300_000), await send("gamma", 5_300_000)]).toEqual([
    200, 413, 413,
  ]);
  expect(await send("beta", 5_300_000)).toBe(200);
  // With only the secret before, as in the middle of a rotation, that one is required.
  const signedBy = (hmac: string) => ({ "content-type": "application/json", "x-delta-signature": hmac });
  const toDelta = (headers: Record<string, string>) =>
    fetch(`${open.url}/webhook/delta`, { method: "POST", headers, body: "{}" }).then(({ status }) => status);
  const right = signature("{}", secret).replace("sha256=", "");
  const all = [{}, signedBy("0".repeat(64)), signedBy(signature("{}", "").replace("sha256=", "")), signedBy(right)];
  expect(await Promise.all(all.map(toDelta))).toEqual([401, 401, 401, 200]);
  await eventually(async () => {
    const { body } = await open.get<{ checks: { name: string; message: string }[] }>("/api/status");
    return body.checks.some(
      ({ name, message }) => name === "connection:delta" && /previous webhook secret was last/.test(message),
    );
  });
  await open.restart({ MAX_WEBHOOK_BYTES: "6000000" });
  expect([await send("alpha", 5_300_000), await send("alpha", 6_100_000)]).toEqual([200, 413]);
  await open.restart({ MAX_UNCHECKED_WEBHOOK_BYTES: "100000" });
  expect([await send("alpha", 90_000), await send("alpha", 110_000)]).toEqual([200, 413]);
});

test("an integration without a secret of its own asks for that of its source", async () => {
  const make = async (credentials: object) => {
    const made = await service.post<{ id: string }>("/api/integrations", { source: "alpha", name: "Ours", credentials });
    expect(made.status).toBe(201);
    return made.body.id;
  };
  const [bare, own] = [await make({ token: "t" }), await make({ token: "t", webhook_secret: "a secret of its own" })];
  const emptied = await make({ token: "t", webhook_secret: "another secret" });
  const put = async (credentials: object) => (await service.put(`/api/integrations/${emptied}`, { credentials })).status;
  const statusOf = async (slug: string, given: string | null, number: number) => {
    const body = JSON.stringify(issueOpened({ number }));
    const signed = given === null ? {} : { "x-hub-signature-256": signature(body, given) };
    const headers = { "content-type": "application/json", "x-alpha-event": "issues", ...signed };
    return (await fetch(`${service.url}/webhook/${slug}`, { method: "POST", headers, body })).status;
  };
  expect([await statusOf(bare, null, 1), await statusOf(bare, "wrong", 2), await statusOf(bare, secret, 3)]).toEqual([
    401, 401, 202,
  ]);
  expect([await statusOf(own, null, 4), await statusOf(own, secret, 5), await statusOf(own, "a secret of its own", 6)]).toEqual([
    401, 401, 202,
  ]);
  // A second account of the same source has its own; an empty one does not count.
  expect([await statusOf(emptied, "a secret of its own", 7), await statusOf(own, "another secret", 8)]).toEqual([401, 401]);
  expect([await put({ token: "t", webhook_secret: "" }), await put({ token: "t", webhook_secret: null })]).toEqual([400, 400]);
  // With only the previous secret, as in the middle of a rotation, unsigned webhooks are refused.
  expect(await put({ token: "t", webhook_secret_previous: "the one before" })).toBe(200);
  expect([await statusOf(emptied, null, 9), await statusOf(emptied, "", 10)]).toEqual([401, 401]);
  // Without any, that of its source is used.
  expect(await put({ token: "t" })).toBe(200);
  expect([
    await statusOf(emptied, null, 11),
    await statusOf(emptied, "another secret", 12),
    await statusOf(emptied, secret, 13),
  ]).toEqual([401, 401, 202]);
});

test.each(["ALPHA", "alpha/", "alpha;x", "alpha%2f", "alpha/x", "alpha//", "./alpha/.", "alpha%00"])(
  "an unsigned webhook to /webhook/%s is refused too",
  async (slug) => {
    const { socket, answer } = begin(service, `/webhook/${slug}`, { "content-length": 2, "x-alpha-event": "issues" }, "{}");
    expect(await answer).toMatch(/^HTTP\/1.1 4\d\d /);
    socket.destroy();
  },
);

test("500 refused webhooks are one watchdog entry with their number", async () => {
  const refused = await Promise.all(Array.from({ length: 500 }, () => service.webhook(issueOpened(), { secret: "wrong" })));
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([401]));
  type Entry = { message: string; context: { source: string; reason: string; count?: number } };
  await eventually(async () => {
    const { body } = await service.get<Entry[]>("/api/watchdog?search=webhook%20refused&limit=1000");
    const mine = body.filter(({ context }) => context.source === "alpha" && /does not match/.test(context.reason));
    expect(mine.length).toBeLessThanOrEqual(2);
    expect(mine.reduce((sum, { context }) => sum + (context.count ?? 1), 0)).toBeGreaterThanOrEqual(500);
    return true;
  });
  expect(
    service
      .logs()
      .split("\n")
      .filter((line) => /webhook refused/.test(line)).length,
  ).toBeLessThan(20);
});
