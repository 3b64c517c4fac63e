import { request } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorld, textsOf, type World } from "../harness/world.ts";

/** Signalbox as an MCP server, called by the MCP project's own client. */
let world: World;
const keys: Record<string, string> = {};
let openTools: string[] = [];
const bearer = (key: string | undefined) => ({ authorization: `Bearer ${key}` });

beforeAll(async () => {
  world = await startWorld();
  const { service } = world;
  // The first client connects while there are no keys.
  openTools = (await toolsOf(undefined)).map(({ name }) => name);
  for (const scope of ["admin", "write", "read"]) {
    const options = { headers: bearer(keys.admin) };
    keys[scope] = (await service.post<{ key: string }>("/api/keys", { name: scope, scopes: [scope] }, options)).body.key;
  }
}, 180_000);
afterAll(() => world?.[Symbol.asyncDispose]());

async function connect(key: string | undefined, only = ""): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" });
  const requestInit = key === undefined ? {} : { headers: bearer(key) };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${world.service.url}/mcp${only}`), { requestInit }) as never);
  return client;
}
async function withClient<T>(key: string | undefined, use: (client: Client) => Promise<T>, only?: string): Promise<T> {
  const client = await connect(key, only);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
const toolsOf = (key: string | undefined, only?: string) =>
  withClient(key, async (client) => (await client.listTools()).tools, only);
const call = (key: string | undefined, name: string, given: Record<string, unknown>) =>
  withClient(key, async (client) => {
    // Listed first, so that the client checks responses against the tool's output schema.
    await client.listTools();
    return (await client.callTool({ name, arguments: given })) as CallToolResult;
  });
const textOf = (result: CallToolResult) => (result.content[0] as { text: string }).text;

describe("what is listed", () => {
  test("lists every operation and every tool, with schemas and annotations", async () => {
    const tools = await toolsOf(keys.admin);
    expect(tools.map(({ name }) => name)).toEqual(openTools);
    const names = new Set(openTools);
    expect(names.size).toBe(openTools.length);
    const { body } = await world.service.get<{ paths: Record<string, Record<string, { operationId?: string }>> }>(
      "/openapi.json",
    );
    // The webhook endpoint is for trackers.
    const paths = Object.entries(body.paths).flatMap(([path, methods]) => (path.startsWith("/webhook") ? [] : [methods]));
    const operations = paths.flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
    expect(operations.filter((id) => id && !names.has(id.replaceAll(/[.-]/g, "_")))).toEqual([]);
    expect(tools.every(({ name, description }) => /^[A-Za-z0-9_-]{1,64}$/.test(name) && description)).toBe(true);
    // Models read them completely.
    expect(JSON.stringify(tools)).not.toContain("$ref");
    const find = (name: string) => tools.find((tool) => tool.name === name);
    expect(find("agents_create")).toMatchObject({
      inputSchema: {
        type: "object",
        required: ["id", "name", "role_id", "prompt"],
        properties: { role_id: { enum: ["pm", "ta", "qa", "dev", "hub"] } },
      },
      outputSchema: { type: "object", properties: { created_at: { type: "string" } } },
      annotations: { readOnlyHint: false, destructiveHint: false },
    });
    expect(find("agents_list")?.annotations).toEqual({ readOnlyHint: true });
    expect(find("memory_search")?.annotations).toEqual({ readOnlyHint: true });
    expect(find("agents_delete")?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(find("alpha__get_issue")).toMatchObject({ title: "alpha.get_issue", annotations: { readOnlyHint: true } });
    expect(find("alpha__add_comment")).toMatchObject({
      inputSchema: { required: ["issue", "body"] },
      annotations: { readOnlyHint: false },
    });
  });

  test("a key sees the tools of its scopes only", async () => {
    const read = (await toolsOf(keys.read)).map(({ name }) => name);
    const write = (await toolsOf(keys.write)).map(({ name }) => name);
    expect(read).toEqual(expect.arrayContaining(["agents_list", "memory_search", "health_get"]));
    expect(read.filter((name) => /_(create|update|delete|seed|execute)$|__|^keys_/.test(name))).toEqual([]);
    expect(write).toEqual(expect.arrayContaining([...read, "agents_create", "alpha__add_comment"]));
    expect(write.filter((name) => /^keys_|^integrations_(create|update|delete)$/.test(name))).toEqual([]);
    expect(openTools).toContain("keys_create");
  });

  test("?only= selects nouns and providers, for clients with a limit on tools", async () => {
    const names = (await toolsOf(keys.admin, "?only=triggers,delta")).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter((name) => !/^(triggers_|delta__)/.test(name))).toEqual([]);
    await expect(toolsOf(keys.admin, "?only=no-such")).rejects.toThrow(/only: there is no noun or provider .*agents/);
  });
});

describe("what is called", () => {
  test("an operation answers structured, by its schema, and as text", async () => {
    const listed = await call(keys.read, "agents_list", { limit: 2 });
    expect(listed.structuredContent).toMatchObject({ total: 5, items: [{ id: expect.any(String) }, { id: expect.any(String) }] });
    expect(JSON.parse(textOf(listed))).toEqual(listed.structuredContent);
    const made = await call(keys.write, "agents_create", { id: "from_mcp", name: "M", role_id: "qa", prompt: "Hi." });
    expect(made.structuredContent).toMatchObject({ id: "from_mcp", role_id: "qa" });
    expect((await call(keys.write, "agents_delete", { id: "from_mcp" })).structuredContent).toEqual({});
    expect(await call(keys.read, "agents_get", { id: "from_mcp" })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: 'There is no agent "from_mcp".' }],
    });
  });

  test("invalid input: the error names the expected value", async () => {
    const bad = await call(keys.write, "agents_create", { id: "Bad Id", name: "M", role_id: "boss", prompt: "Hi." });
    expect([bad.isError, textOf(bad)]).toEqual([
      true,
      expect.stringMatching(/^id: must start with a lower-case letter .* \(and 1 more\)$/),
    ]);
    const empty = await call(keys.write, "agents_update", { id: "pm_default", nonsense: 1 });
    expect([empty.isError, textOf(empty)]).toEqual([true, expect.stringMatching(/at least one of: .*prompt/)]);
    const lacks = await call(keys.write, "alpha__add_comment", { issue: 1 });
    expect([lacks.isError, textOf(lacks)]).toEqual([true, expect.stringMatching(/^parameters\.body: /)]);
  });

  test("an operation that streams over HTTP answers when its stream ends, also if nothing happened", async () => {
    expect(await call(keys.read, "events_follow", { seconds: 1 })).toMatchObject({ structuredContent: { result: null } });
    // Without it, the answer would come later than clients wait.
    const [{ description, inputSchema } = {}] = await toolsOf(keys.read, "?only=events");
    expect(description).toContain("returns the data of its last event.");
    expect(inputSchema?.properties?.seconds).toMatchObject({ default: 30, description: expect.stringContaining("Default: 30.") });
  });

  test("a tool of the registry: it acts at the tracker, and is recorded", async () => {
    const ran = await call(keys.write, "alpha__add_comment", { issue: "octo/app#3", body: "From MCP" });
    expect(ran.structuredContent).toMatchObject({ status: "succeeded", result: { id: expect.any(String) } });
    expect(textsOf(world.tracker, "octo/app", 3)).toEqual(["From MCP"]);
    const log = await world.service.get<{ id: string; tool: string }[]>("/api/tool-executions", { headers: bearer(keys.read) });
    expect(log.body[0]).toMatchObject({
      id: ran.structuredContent?.tool_execution_id,
      tool: "alpha.add_comment",
      status: "succeeded",
    });
  });

  test("beyond the key's scopes, and unknown: refused with the reason", async () => {
    await expect(call(keys.read, "agents_seed", {})).rejects.toThrow(/agents_seed needs the scope write; the API key has read/);
    await expect(call(keys.read, "alpha__add_comment", { issue: 1, body: "x" })).rejects.toThrow(/needs the scope write/);
    await expect(call(keys.read, "no_such", {})).rejects.toThrow(
      'MCP error -32602: There is no tool "no_such"; tools/list names them',
    );
    await expect(call(keys.read, "agents.list", {})).rejects.toThrow(/"agents\.list"; did you mean "agents_list"\?$/);
  });
});

describe("the door", () => {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  };
  const post = (body: unknown, headers: Record<string, string>) =>
    world.service.post<{ error: string }>("/mcp", body, {
      headers: { accept: "application/json, text/event-stream", ...headers },
    });

  test("without a key, or with a wrong one: 401", async () => {
    for (const headers of [{}, bearer("sbx_wrong")]) {
      const refused = await post(initialize, headers);
      expect(refused).toMatchObject({ status: 401, body: { error: expect.stringContaining("API key") } });
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
    }
    await expect(connect("sbx_wrong")).rejects.toThrow(/API key is not valid/);
  });

  test("a page of another site is refused, with a key too; another name of this service is not", async () => {
    const headers = bearer(keys.read);
    expect(await post(initialize, { ...headers, origin: "https://evil.example" })).toMatchObject({
      status: 403,
      body: { error: expect.stringContaining("Origin") },
    });
    const { port } = new URL(world.service.url);
    expect((await post(initialize, { ...headers, origin: `http://localhost:${port}` })).status).toBe(200);
    // The request of a rebound name has its own page's Origin and no key.
    expect(await statusOf({ host: "rebound.example", origin: "http://rebound.example" })).toBe(401);
  });

  test("no streams, no invalid messages", async () => {
    const get = await world.service.get("/mcp", { headers: bearer(keys.read) });
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await post("{", bearer(keys.read))).body).toEqual({ error: expect.stringContaining("not valid JSON") });
    expect((await post("[".repeat(5_000), bearer(keys.read))).status).toBe(400);
    expect((await post(`"${"x".repeat(2 << 20)}"`, bearer(keys.read))).status).toBe(413);
    expect((await post({ jsonrpc: "2.0", id: 7, method: "no/such" }, bearer(keys.read))).body).toMatchObject({
      error: { code: -32601 },
    });
  });

  const ping = (id: number | string) => ({ jsonrpc: "2.0", id, method: "ping" });
  test.each([
    [
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: {} },
      200,
      -32_602,
      /^params\.name: is required; it must be a string$/,
    ],
    [{ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "usage_get", arguments: [] } }, 200, -32_602, /arguments: /],
    [{ jsonrpc: "2.0", id: 1, method: "initialize" }, 200, -32_602, /^params: is required; it must be an object$/],
    [{ id: 1, method: "ping" }, 400, -32_600, /a message must be \{"jsonrpc": "2\.0"/],
    [42, 400, -32_600, /a message must be/],
    [[], 400, -32_600, /batch is empty/],
    [Array(2).fill({ jsonrpc: "2.0", id: 1, method: "tools/list" }), 400, -32_600, /lists the tools more than once/],
    [[ping(1), ping(2), 5], 400, -32_600, /message 3 of the batch must be/],
    [[ping(1), ping("1"), ping(1)], 400, -32_600, /the id 1 more than once/],
    [Array(11).fill({ jsonrpc: "2.0", id: 1, method: "ping" }), 400, -32_600, /more than 10 messages/],
  ])("%j is refused with what is missing", async (body, status, code, message) => {
    expect(await post(body, bearer(keys.read))).toMatchObject({
      status,
      body: { error: { code, message: expect.stringMatching(message) } },
    });
  });

  const statusOf = (headers: Record<string, string>): Promise<number> =>
    new Promise((done, fail) => {
      const call = request(`${world.service.url}/mcp`, { method: "POST", headers }, (response) => {
        response.resume();
        done(response.statusCode ?? 0);
      });
      call.on("error", fail).end(JSON.stringify(initialize));
    });
});
