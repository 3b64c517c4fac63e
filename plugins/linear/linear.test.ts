import { createHmac } from "node:crypto";
import { callContext, setUpPlugin, testSource, testTools } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { waitOf } from "./src/errors.ts";
import plugin from "./src/plugin.ts";
import { verify } from "./src/verify.ts";
import { conformance } from "./test/conformance.ts";
import { ann, failure, LinearServer, newIssue, token } from "./test/server.ts";

const fixtures = conformance.sources?.linear;
const { tools } = conformance;
if (!fixtures || !tools) throw new Error("the conformance of linear must hold a source and tools");

describe("linear is a source", () => {
  for (const one of testSource(plugin, fixtures)) test.concurrent(one.name, one.run, 15_000);
});
describe("linear's tools", () => {
  for (const one of testTools(plugin, { ...tools, secrets: [token] })) test.concurrent(one.name, one.run, 15_000);
});

async function open() {
  const server = new LinearServer().intercept("http://linear.test", { http, setupServer });
  onTestFinished(() => server.close());
  const source = (await setUpPlugin(plugin)).sources?.linear;
  if (!source) throw new Error("linear has no source");
  const connection = source.connection.parse({ url: server.url, token, webhook_secret: "s" });
  return { server, source, call: () => callContext(connection) };
}
const subject = { project: "ENG", issue: "ENG-42" };

test("a webhook older than a minute is refused, even with a valid signature", () => {
  const now = Date.parse("2026-01-31T10:00:00Z");
  const judged = (webhookTimestamp: number) => {
    const body = new TextEncoder().encode(JSON.stringify({ action: "create", webhookTimestamp }));
    const headers = { "linear-signature": createHmac("sha256", "s").update(body).digest("hex") };
    return verify({ headers, body }, { url: "https://api.linear.app", webhook_secret: "s" }, now);
  };
  expect(judged(now - 59_000)).toEqual({ ok: true });
  expect(judged(now - 61_000)).toMatchObject({ ok: false, reason: expect.stringContaining("61 s") });
  expect(judged(now + 61_000)).toMatchObject({ ok: false });
});

test("posting twice with one key creates one comment", async () => {
  const { server, source, call } = await open();
  const one = call();
  const first = await source.deliver({ subject, body: "Once." }, one);
  expect(await source.deliver({ subject, body: "Once." }, one)).toEqual(first);
  expect(server.comments(subject)).toHaveLength(1);
});

test("an answer goes into the thread of the comment that it answers", async () => {
  const { server, source, call } = await open();
  await source.deliver({ subject, body: "There.", thread: "9d0a7a10-5a80-4b1e-9d3e-2f7a5d1b0c04" }, call());
  expect(server.all[0]).toMatchObject({ parentId: "9d0a7a10-5a80-4b1e-9d3e-2f7a5d1b0c04" });
  await source.deliver({ subject, body: "The thread is gone.", thread: "deleted" }, call());
  expect(server.all[1]).toMatchObject({ parentId: null });
});

test("a rate limit in the errors of a response is recognised, with its wait", async () => {
  const { server, source, call } = await open();
  const reset = String(Date.now() + 1_800_000);
  const headers = { "x-ratelimit-complexity-remaining": "0", "x-ratelimit-complexity-reset": reset };
  const body = JSON.stringify(failure("Rate limit exceeded", "RATELIMITED").body);
  server.fault({ kind: "status", status: 400, headers, body });
  const error = await source.check(call()).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "rate_limited", retryable: true });
  expect((error as { retry_after_ms: number }).retry_after_ms).toBeGreaterThan(1_700_000);
  expect(waitOf(new Headers(), 0)).toBe(60);
  expect(waitOf(new Headers({ "x-ratelimit-requests-remaining": "7", "x-ratelimit-requests-reset": "900000" }), 0)).toBe(60);
});

test("the check reports how many requests are left", async () => {
  const { server, source, call } = await open();
  expect(await source.check(call())).toEqual({ may_write: null, rate_limit: null });
  const resets_at = "2026-01-31T10:00:00.000Z";
  server.headers = {
    "x-ratelimit-requests-remaining": "2499",
    "x-ratelimit-requests-limit": "2500",
    "x-ratelimit-requests-reset": String(Date.parse(resets_at)),
  };
  expect(await source.check(call())).toEqual({ may_write: null, rate_limit: { remaining: 2499, limit: 2500, resets_at } });
});

test("GraphQL errors get their code, whatever the HTTP status", async () => {
  const { server, source, call } = await open();
  const coded = async (code: string, status: number, message = "no") => {
    server.fault({ kind: "status", status, body: JSON.stringify(failure(message, code).body) });
    return source.check(call()).catch((error: { code: string; retryable: boolean }) => [error.code, error.retryable]);
  };
  expect(await coded("AUTHENTICATION_ERROR", 400)).toEqual(["unauthorized", false]);
  expect(await coded("FORBIDDEN", 200)).toEqual(["unauthorized", false]);
  expect(await coded("INTERNAL_SERVER_ERROR", 200)).toEqual(["unavailable", true]);
  expect(await coded("INPUT_ERROR", 400, "Entity not found: Issue")).toEqual(["not_found", false]);
  expect(await coded("INPUT_ERROR", 400)).toEqual(["invalid_input", false]);
});

test("members, guests, applications and strangers get their standing", async () => {
  const { server, source, call } = await open();
  const standing = async (more: object) => {
    server.users.splice(0, 1, { ...ann, active: true, admin: false, guest: false, app: false, ...more });
    const author = { id: ann.id, name: null, kind: "human", standing: "unknown" } as const;
    return source.standing?.({ project: "ENG", author }, call());
  };
  expect([await standing({}), await standing({ admin: true })]).toEqual(["member", "owner"]);
  expect([await standing({ guest: true }), await standing({ app: true })]).toEqual(["contributor", "contributor"]);
  expect([await standing({ active: false }), await standing({ id: "another" })]).toEqual(["none", "none"]);
});

test("a poll returns the events that webhooks would have sent, with the same keys", async () => {
  const { server, source, call } = await open();
  const since = new Date(Date.now() - 60_000).toISOString();
  server.issues.push(newIssue("0e2a1b3c-0000-4000-8000-000000000043", 43, "Another", ""));
  const { id } = await source.deliver({ subject, body: "Hello." }, call());
  const batch = await source.poll?.({ project: "ENG", since, cursor: null }, call());
  const read = await Promise.all((batch?.events ?? []).map((event) => source.parse(event)));
  const keys = read.map(({ change_key }) => change_key);
  expect(keys.toSorted()).toEqual([`Comment/create/${id}`, "Issue/create/ENG-42", "Issue/create/ENG-43"]);
  expect(read.find(({ event_name }) => event_name === "Comment")).toMatchObject({ marked: true, subject, comment: id });
});

test("the webhook of the workspace is created on demand, and missing events are added", async () => {
  const { server, source, call } = await open();
  const wanted = { project: null, url: "https://signalbox.example.com/webhook/linear", apply: false };
  const events = [
    { event_name: "Issue", action: "create" },
    { event_name: "Comment", action: null },
  ];
  const check = (more = {}) => source.checkWebhook?.({ ...wanted, events, ...more }, call());
  expect(await check()).toMatchObject({ id: null, missing: ["Comment", "Issue"], unknown: [] });
  expect(await check({ apply: true })).toMatchObject({ active: true, missing: [], changed: "created" });
  expect(server.hooks).toMatchObject([{ allPublicTeams: true, secret: "s", resourceTypes: ["Comment", "Issue"] }]);
  const more = [...events, { event_name: "Reaction", action: null }, { event_name: "Nonsense", action: null }];
  expect(await check({ events: more })).toMatchObject({ missing: ["Reaction"], unknown: ["Nonsense"], changed: null });
  expect(await check({ events: more, apply: true })).toMatchObject({ missing: [], changed: "updated" });
});
