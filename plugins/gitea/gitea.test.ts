import { callContext, setUpPlugin, testSource, testTools } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { describe, expect, onTestFinished, test } from "vitest";
import plugin from "./src/plugin.ts";
import { conformance } from "./test/conformance.ts";
import { GiteaServer, token } from "./test/server.ts";
import opened from "./test/webhooks/issue-opened.json" with { type: "json" };

const fixtures = conformance.sources?.gitea;
const { tools } = conformance;
if (!fixtures || !tools) throw new Error("the conformance of gitea must hold a source and tools");

describe("gitea is a source", () => {
  for (const one of testSource(plugin, fixtures)) test.concurrent(one.name, one.run, 15_000);
});
describe("gitea's tools", () => {
  for (const one of testTools(plugin, { ...tools, secrets: [token] })) test.concurrent(one.name, one.run, 15_000);
});

async function open() {
  const server = new GiteaServer().intercept("http://gitea.test", { http, setupServer });
  onTestFinished(() => server.close());
  const source = (await setUpPlugin(plugin)).sources?.gitea;
  if (!source) throw new Error("gitea has no source");
  const connection = source.connection.parse({ url: server.url, token, webhook_secret: "s" });
  return { server, source, call: () => callContext(connection) };
}

test("an account's permission decides its standing; reading a public repository gives none", async () => {
  const { server, source, call } = await open();
  const author = { id: "5", name: "ann", kind: "human", standing: "unknown" } as const;
  const standing = async (permission: string) => {
    server.permissions.set("ann", permission);
    return source.standing?.({ project: "octo/app", author }, call());
  };
  const found = [];
  for (const permission of ["owner", "admin", "write", "read", "none"]) found.push(await standing(permission));
  expect(found).toEqual(["owner", "member", "member", "none", "none"]);
  server.isPrivate = true;
  expect(await standing("read")).toBe("collaborator");
});

test("the check reports how many requests a proxy's rate limit still allows", async () => {
  const { server, source, call } = await open();
  expect(await source.check(call())).toEqual({ may_write: null, rate_limit: null });
  server.headers = { "ratelimit-remaining": "1999", "ratelimit-limit": "2000" };
  expect(await source.check(call())).toEqual({ may_write: null, rate_limit: { remaining: 1999, limit: 2000, resets_at: null } });
});

test("a poll returns the events that webhooks would have sent, with the same keys", async () => {
  const { server, source, call } = await open();
  const { id } = await source.deliver({ subject: { project: "octo/app", issue: "7" }, body: "Hello." }, call());
  const closed_at = new Date().toISOString();
  Object.assign(server.issue(8), { state: "closed", closed_at, pull_request: { merged: true } });
  const batch = await source.poll?.({ project: "octo/app", since: "2020-01-01T00:00:00Z", cursor: null }, call());
  const keys = await Promise.all((batch?.events ?? []).map(async (event) => (await source.parse(event)).change_key));
  expect(keys.toSorted()).toEqual([
    `issue_comment/created/octo/app#7/${id}`,
    "issues/opened/octo/app#7",
    `pull_request/closed/octo/app#8@${closed_at}`,
    "pull_request/opened/octo/app#8",
  ]);
  expect((await source.parse(opened)).change_key).toBe("issues/opened/octo/app#7");
});

test("the webhook of a repository is created on demand, and missing events are added", async () => {
  const { server, source, call } = await open();
  const wanted = { project: "octo/app", url: "https://signalbox.example.com/webhook/gitea", apply: false };
  const events = [{ event_name: "issue_comment", action: "created" }];
  const check = (more = {}) => source.checkWebhook?.({ ...wanted, events, ...more }, call());
  expect(await check()).toMatchObject({ id: null, missing: ["issue_comment", "pull_request_comment"] });
  expect(await check({ apply: true })).toMatchObject({ active: true, missing: [], changed: "created" });
  expect(server.hooks).toMatchObject([{ type: "gitea", config: { content_type: "json", secret: "s" } }]);
  const more = [...events, { event_name: "pull_request_approved", action: null }, { event_name: "nonsense", action: null }];
  expect(await check({ events: more })).toMatchObject({ missing: ["pull_request_review"], unknown: ["nonsense"], changed: null });
  expect(await check({ events: more, apply: true })).toMatchObject({ missing: [], changed: "updated" });
  await expect(check({ project: null })).rejects.toMatchObject({ code: "invalid_input" });
});
