import { afterAll, beforeAll, expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import { type LoopbackServer, startLoopback } from "../../examples/demo/loopback-server.ts";
import { FakeWiki } from "../../plugins/wiki/test-wiki.ts";
import { issueCommented, issueOpened } from "../harness/alpha-payloads.ts";
import { gateway } from "../harness/gateway.ts";
import { synced, wikiConfig } from "../harness/knowledge.ts";
import { changingServer } from "../harness/mcp-servers.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, issueOf, plainScript, roundsOf, startWorld, type World } from "../harness/world.ts";

const repo = "octo/app";
const title = "The ledger loses parcels";
let world: World;
let wiki: FakeWiki;
let mcp: LoopbackServer;

/** Reads the issue and calls the MCP server, then answers. */
function script(request: ChatRequest) {
  if (roundsOf(request) === 0) return callOf("get_issue", request);
  const asking = { tool_calls: [{ name: "stock__count", arguments: { project: repo } }] };
  return roundsOf(request) === 1 ? asking : plainScript(request, 0);
}

beforeAll(async () => {
  const tool = { name: "count", inputSchema: { type: "object", properties: { project: { type: "string" } } } };
  mcp = await startLoopback({ handler: changingServer(() => [tool]), errorBody: () => ({}) });
  wiki = await new FakeWiki(false, ["DOCS"]).listen();
  wiki.add({ title: "Ledger", body: `<p>${title}: restart the sorter.</p>` });
  const env = { ENCRYPTION_KEY: "ab".repeat(32), EMBEDDING_DIMENSION: "64" };
  world = await startWorld({ tasks: ["first"], script, env });
}, 120_000);
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await Promise.all([wiki?.close(), mcp?.close()]);
}, 60_000);

/** The text that the model read in its last request about an issue. */
async function readOf(number: number, payload: object): Promise<{ system: string; event: string; results: string[] }> {
  const { body } = await world.service.webhook(payload);
  await waitForExecutions(world.service, { event_id: body.event_id, state: "succeeded" });
  const request = world.model.chats().findLast((one) => issueOf(one) === `${repo}#${number}`);
  const of = (role: string) => request?.messages.filter((one) => one.role === role).map(({ content }) => String(content)) ?? [];
  return { system: of("system").join(), event: of("user").join(), results: of("tool") };
}

test("memories, passages, events and tool results name author, place and time", { timeout: 60_000 }, async () => {
  const { service } = world;
  await service.put("/api/agents/qa_default", { auth_enabled: true, auth_secret: "a secret of qa" });
  const agent = gateway(service.url);
  const { body: session } = await agent.call("RegisterAgent", { agent_id: "qa_default", secret: "a secret of qa" });
  const stored = { key: "by an agent", content: `${title} on Fridays`, scope: "MEMORY_SCOPE_ORGANIZATIONAL" };
  expect((await agent.call("MemoryStore", { ...stored, session_id: session.sessionId })).code).toBeNull();
  await service.post("/api/memory", { key: "by hand", content: `${title} at night`, scope: "organizational" });
  const config = { ...wikiConfig(wiki), is_cloud: false };
  const { body: source } = await service.post<{ id: string }>("/api/knowledge-sources", {
    name: "handbook",
    type: "wiki",
    config,
  });
  expect(await synced(service, source.id)).toMatchObject({ status: "succeeded" });
  expect((await service.post("/api/mcp-servers", { name: "stock", url: mcp.url })).status).toBe(201);
  await eventually(async () => JSON.stringify((await service.get("/api/tools?limit=1000")).body).includes("stock.count"));

  // A maintainer edits a stranger's text.
  const sender = { login: "maintainer", type: "User" };
  const { system, event, results } = await readOf(7, issueOpened({ number: 7, title, sender: "stranger" }, { sender }));
  const time = "\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z";
  expect(system).toMatch(new RegExp(`memory, by an agent\\) \\[written by: the agent qa_default; at: ${time}; Written after`));
  expect(system).toMatch(new RegExp(`memory, by hand\\) \\[written by: a client of the API; at: ${time}; Written after`));
  expect(system).toContain("\n- (document Ledger, ");
  expect(system).toContain("[written by: Ada; in: handbook; last edited: 2026-01-01T00:00:00.000Z");
  expect(event).toMatch(
    /^\[caused by: maintainer \(human, standing in the project: unknown\)\]\n\[in: octo\/app\]\n\[at: .*\]$/m,
  );
  expect(event).toContain("- Author: stranger");
  expect(results[0]).toMatch(new RegExp(`\\n\\[from: the tracker alpha\\]\\n\\[about: ${repo} 7\\]\\n\\[at: ${time}\\]\\n`));
  expect(results[0]).toContain('"standing":"owner"');
  expect(results[1]).toMatch(new RegExp(`\\n\\[from: the MCP server stock\\]\\n\\[about: ${repo}\\]\\n\\[at: ${time}\\]\\n`));
});

test("looked-up facts have their own fence, and a result keeps its fence over the rounds", async () => {
  const payload = issueOpened({ number: 8, title });
  delete (payload.issue as Record<string, unknown>).state;
  const { event, results } = await readOf(8, payload);
  expect(event).toMatch(
    /\n<\/event-[0-9a-f]{12}>\n\n.*\n<(issue-[0-9a-f]{12})>\n\[read from: alpha\]\n\[at: .*\]\n\n## The issue now\n[\s\S]*<\/\1>$/,
  );
  const earlier = world.model.chats().find((one) => issueOf(one) === `${repo}#8` && roundsOf(one) === 1);
  expect(earlier?.messages.at(-1)?.content).toBe(results[0]);
});

test("a title that names an element hides nothing, and text that readers do not see reaches no model", async () => {
  const body = [
    "The steps.",
    "<ruby>x<rp>SECRET</rp></ruby> <span hidden/>SECRET</span> <!A SECRET>",
    "| a |\n|---|\n| b | SECRET |",
    "[seen][SECRET words]\n\n[SECRET words]: https://example.com/docs",
    "- [//]: # (SECRET)",
    "```sh SECRET words\nrun\n```",
    "[^1]: SECRET",
  ].join("\n\n");
  const { event } = await readOf(9, issueOpened({ number: 9, title: "Support <template> tags", body }));
  expect(event).toContain("# Issue #9: Support \\<template> tags\n");
  expect(event).toContain("The steps.");
  expect(event).toContain("[seen](https://example.com/docs)");
  expect(event).toContain("```sh\nrun\n```");
  expect(event).not.toContain("SECRET");
});

test("a comment neither shows what the description of its issue hides, nor hides what that shows", async () => {
  await world.service.post("/api/tasks/triggers", { canonical_trigger: "issue.commented", task_id: "first" });
  const comments = ["Look:\n\n```", "~~~~", "<div hidden>", "<!-- open", "<script>", "<![CDATA[", '<div title="'];
  const body =
    'Steps to repeat. <!-- SECRET -->\n\n<p hidden>SECRET</p>\n\n~~~~\n~~~~\n\n```\n```\n\n[link](https://example.com "SECRET")';
  for (const [n, comment] of comments.entries()) {
    const { event } = await readOf(20 + n, issueCommented({ number: 20 + n, title, body, comment }));
    expect(event, comment).toContain("## Description\n\nSteps to repeat.");
    expect(event, comment).toContain("[link](https://example.com)");
    expect(event, comment).not.toContain("SECRET");
  }
});
