import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LoopbackServer, startLoopback } from "../../examples/demo/loopback-server.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { changingServer, startEverything, strangeServer } from "../harness/mcp-servers.ts";
import { type McpServer, type McpWorld, startMcpWorld, type ToolCall } from "../harness/mcp-world.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";

const limit = 120_000;

let everything: ChildProcess;
let everythingUrl: string;
let strange: LoopbackServer;
let world: McpWorld;

beforeAll(async () => {
  [everything, everythingUrl] = await startEverything();
  strange = await startLoopback({ handler: strangeServer, errorBody: () => ({}) });
  world = await startMcpWorld();
}, limit);
afterAll(async () => {
  await Promise.all([world?.close(), strange?.close()]);
  everything?.kill();
});

const offered = (chat: number) => (world.model.chats().at(chat)?.tools ?? []).map((tool) => tool.function.name);

test("a real server is registered, discovered, offered and called", { timeout: limit }, async () => {
  const created = await world.add("Everything", everythingUrl);
  expect(created).toMatchObject({ status: 201, body: { id: expect.any(Number), name: "Everything", agent_id: null, tools: [] } });
  const server = await world.discovered("Everything");
  expect(server).toMatchObject({
    status: "connected",
    last_error: expect.stringMatching(/^1 of its tools omitted: .*requires task execution/),
  });
  expect(server.tools.map((tool) => tool.qualified_name)).toEqual(
    expect.arrayContaining(["everything.echo", "everything.get-sum"]),
  );

  const done = await world.execute("everything.echo", { message: "hello" });
  expect(done).toMatchObject({ status: 200, body: { tool: "everything.echo", status: "succeeded", result: "Echo: hello" } });
  const structured = await world.execute("everything.get-structured-content", { location: "Chicago" });
  expect(structured.body.result).toMatchObject({ temperature: expect.any(Number) });
  expect((await world.execute("everything.echo", {})).body.error).toMatch(/parameters\.message: is required/);
  expect((await world.execute("everything.get-sum", { a: 1, b: "2" })).body.error).toMatch(
    /parameters\.b: must be a number; it is a string/,
  );

  world.model.answerWith({ reply: { tool_calls: [{ name: "everything__get-sum", arguments: { a: 19, b: 23 } }] } });
  const { body } = await world.service.webhook(issueOpened({ repo: "octo/app", number: 3 }));
  await waitForExecutions(world.service, { event_id: body.event_id as string, count: 2, state: "succeeded" });
  expect(offered(0)).toEqual(expect.arrayContaining(["alpha__add_comment", "everything__echo", "everything__get-sum"]));
  const called = (await world.service.get<ToolCall[]>("/api/tool-executions?fields=result")).body.find(
    (one) => one.tool === "everything.get-sum" && one.status === "succeeded",
  );
  expect(called?.result).toBe("The sum of 19 and 23 is 42.");
  const listed = (await world.service.get<{ qualified_name: string; origin: string }[]>("/api/tools?limit=1000")).body;
  expect(listed.find((tool) => tool.qualified_name === "everything.echo")).toMatchObject({ origin: "mcp" });
});

test("an invalid server is refused with the reason", { timeout: limit }, async () => {
  expect((await world.add("Everything", everythingUrl)).status).toBe(409);
  expect((await world.add("every thing", everythingUrl)).status).toBe(201);
  expect((await world.add("every  THING!", everythingUrl)).status, "its tools would have the same names").toBe(409);
  expect((await world.add("alpha", everythingUrl)).body.error).toMatch(/name.*alpha/);
  expect((await world.add("x", "ftp://example.com")).body.error).toMatch(/url/);
  expect((await world.add("x", "http://10.0.0.1/mcp")).body).toEqual({ error: expect.stringMatching(/^url: 10\.0\.0\.1/) });
  const unknown = await world.add("x", everythingUrl, { agent_id: "no_such_agent" });
  expect(unknown).toMatchObject({ status: 400, body: { error: expect.stringMatching(/agent_id.*no_such_agent/) } });
  const { id } = (await world.servers()).find((one) => one.name === "every thing") as McpServer;
  expect((await world.service.del(`/api/mcp-servers/${id}`)).status).toBe(204);
  expect((await world.service.del(`/api/mcp-servers/${id}`)).status).toBe(404);
  expect((await world.service.del("/api/mcp-servers/x")).status).toBe(400);
  expect((await world.service.get("/api/mcp-servers?limit=0")).status).toBe(400);
});

test("a server of one agent is offered to no other", { timeout: limit }, async () => {
  await world.add("Private", everythingUrl, { agent_id: "ta_default" });
  await world.discovered("Private");
  const before = world.model.chats().length;
  const { body } = await world.service.webhook(issueOpened({ repo: "octo/app", number: 4 }));
  await waitForExecutions(world.service, { event_id: body.event_id as string, count: 2, state: "succeeded" });
  const chats = world.model.chats().slice(before);
  const has = (who: RegExp) =>
    chats
      .filter((chat) => who.test(String(chat.messages[0]?.content)))
      .map((chat) => chat.tools?.some((tool) => tool.function.name === "private__echo"));
  expect(has(/technical architect/).every(Boolean)).toBe(true);
  expect(has(/technical architect/).length).toBeGreaterThan(0);
  expect(has(/product manager/).some(Boolean)).toBe(false);
});

test("a deleted agent's server is deleted with its tools", { timeout: limit }, async () => {
  const agent = { id: "brief", name: "Brief", role_id: "dev", prompt: "You are brief." };
  expect((await world.service.post("/api/agents", agent)).status).toBe(201);
  await world.add("Brief", everythingUrl, { agent_id: agent.id });
  await world.discovered("Brief");
  expect((await world.execute("brief.echo", { message: "hello" })).body.result).toBe("Echo: hello");
  expect((await world.service.del(`/api/agents/${agent.id}`)).status).toBe(204);
  expect((await world.execute("brief.echo", { message: "hello" })).status).toBe(404);
});

test.each([
  ["/gone", /^failed: connect ECONNREFUSED/],
  ["/broken", /^answered 500: out of order/],
  ["/refusing", /^answered with an error: bad$/],
  ["/unstorable", /^answered with an error: bad \uFFFD \uFFFD$/],
  ["/without-result", /^sent a message that is not valid MCP$/],
  ["/html", /content type|text\/html/],
  ["/moved", /307|[Rr]edirect/],
  ["/silent", /did not answer within 15 s/],
  ["/endless", /more than 4194304 bytes/],
  ["/lists", /invalid answer to tools\/list/],
])("a server that is %s fails alone, and says why", { timeout: limit }, async (path, why) => {
  const name = `strange ${path.slice(1)}`;
  const url = path === "/gone" ? "http://127.0.0.1:2/mcp" : `${strange.url}${path}`;
  expect((await world.add(name, url)).status).toBe(201);
  const server = await world.discovered(name);
  expect(server).toMatchObject({ status: "failed", tools: [], last_error: expect.stringMatching(why) });
});

test("a server with invalid tools keeps its valid ones, and its failures affect no other server", {
  timeout: limit,
}, async () => {
  await world.add("liar", `${strange.url}/liar`);
  const server = await world.discovered("liar");
  expect(server).toMatchObject({
    status: "connected",
    last_error: expect.stringMatching(/1 of its tools omitted: "no schema"/),
  });
  expect(server.tools.map((tool) => tool.name)).toEqual(["huge", "odd result"]);
  expect(await world.execute("liar.huge", {})).toMatchObject({
    status: 502,
    body: { error: expect.stringMatching(/more than 2097152 bytes/) },
  });
  const odd = server.tools[1]?.qualified_name ?? "";
  expect(odd).toMatch(/^liar\.odd_result_[0-9a-f]{8}$/);
  expect(await world.execute(odd, {})).toMatchObject({ status: 502, body: { error: expect.stringMatching(/liar/) } });
  await world.add("pages", `${strange.url}/pages`);
  expect((await world.discovered("pages")).tools.length).toBe(20);
});

test("discovery on demand reports failures and delays no event", { timeout: limit }, async () => {
  const asked = world.service.post<{ servers: number; tools: number; failed: { name: string; error: string }[] }>(
    "/api/mcp-servers/discover",
    undefined,
    { timeout: 60_000 },
  );
  let discovered = false;
  void asked.then(() => {
    discovered = true;
  });
  const { status, body } = await world.service.webhook(issueOpened({ repo: "octo/app", number: 6 }));
  expect(status).toBe(202);
  await waitForExecutions(world.service, { event_id: body.event_id as string, count: 2, state: "succeeded" });
  expect(discovered, "the silent server is still being waited for").toBe(false);
  const answer = await asked;
  expect(answer.status).toBe(200);
  expect(answer.body.servers).toBe((await world.servers()).length);
  expect(answer.body.tools).toBeGreaterThan(20);
  expect(answer.body.failed.map((one) => one.name)).toEqual(
    expect.arrayContaining(["strange silent", "strange gone", "strange lists"]),
  );
  expect(answer.body.failed.map((one) => one.name)).not.toContain("Everything");
});

test("tools of an unavailable server are not offered, and return after a restart", { timeout: limit }, async () => {
  const ended = once(everything, "exit");
  everything.kill();
  await ended;
  // Its 15 seconds are awaited only once.
  const silent = (await world.servers()).find(({ name }) => name === "strange silent") as McpServer;
  expect((await world.service.del(`/api/mcp-servers/${silent.id}`)).status).toBe(204);
  await world.service.post("/api/mcp-servers/discover", undefined, { timeout: 60_000 });
  expect(await world.discovered("Everything")).toMatchObject({
    status: "failed",
    tools: expect.arrayContaining([expect.objectContaining({ name: "echo" })]),
  });
  const gone = await world.execute("everything.echo", { message: "x" });
  expect(gone).toMatchObject({ status: 502, body: { error: expect.stringMatching(/Everything/) } });
  const before = world.model.chats().length;
  const { body } = await world.service.webhook(issueOpened({ repo: "octo/app", number: 8 }));
  await waitForExecutions(world.service, { event_id: body.event_id as string, count: 2, state: "succeeded" });
  expect(offered(before)).toContain("alpha__add_comment");
  expect(offered(before)).not.toContain("everything__echo");

  [everything] = await startEverything(Number(new URL(everythingUrl).port));
  await world.service.restart();
  // No request triggers it: the service looks by itself.
  await eventually(async () => (await world.discovered("Everything")).status === "connected", { timeout: 30_000 });
  expect(await world.execute("everything.echo", { message: "back" })).toMatchObject({ status: 200 });
});

test("no secret reaches a server, not even in arguments of a read", { timeout: limit }, async () => {
  const heard: unknown[] = [];
  const search = { name: "search", annotations: { readOnlyHint: true }, inputSchema: { type: "object" } };
  const asked = await startLoopback({ handler: changingServer(() => [search], heard), errorBody: () => ({}) });
  try {
    // The server's only credential is in its address.
    await world.add("asked", `${asked.url}/?access_token=of-the-server-1`);
    await world.discovered("asked");
    const q = "are t0ken and of-the-server-1 valid?";
    world.model.answerWith({ reply: { tool_calls: [{ name: "asked__search", arguments: { q, id: "t0ken" } }] } });
    const { body } = await world.service.webhook(issueOpened({ repo: "octo/app", number: 44 }));
    await waitForExecutions(world.service, { event_id: body.event_id as string, count: 2, state: "succeeded" });
    expect(heard).toEqual([{ q: "are [redacted] and [redacted] valid?", id: "[redacted]" }]);
  } finally {
    await asked.close();
  }
});

test("the texts of a result are cleaned one by one: none hides another or shows what it hides", { timeout: limit }, async () => {
  const texts = ["First. <div hidden>", "Second.\n<!-- from the second", "```", "Third. <div hidden>from the third</div>"];
  const list = { name: "list", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
  const comments = await startLoopback({ handler: changingServer(() => [list], [], texts), errorBody: () => ({}) });
  try {
    await world.add("comments", comments.url);
    await world.discovered("comments");
    expect((await world.execute("comments.list", {})).body.result).toEqual(texts);
    world.model.answerWith({ reply: { tool_calls: [{ name: "comments__list", arguments: {} }] } });
    const { body } = await world.service.webhook(issueOpened({ repo: "octo/app", number: 45 }));
    await waitForExecutions(world.service, { event_id: body.event_id as string, count: 2, state: "succeeded" });
    const read = world.model
      .chats()
      .flatMap(({ messages }) => messages)
      .map(({ role, content }) => (role === "tool" ? String(content) : ""))
      .find((content) => content.includes("MCP server comments"));
    for (const text of ["First.", "Second.", "Third."]) expect(read).toContain(text);
    for (const text of ["from the second", "from the third"]) expect(read).not.toContain(text);
  } finally {
    await comments.close();
  }
});
