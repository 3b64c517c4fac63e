import { afterAll, beforeAll, test } from "vitest";
import type { ToolCall } from "../../examples/demo/chat.ts";
import { type LoopbackServer, startLoopback } from "../../examples/demo/loopback-server.ts";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { here, jsonAround } from "../harness/fillings.ts";
import { type Door, door, few, type MeasuredService, mebibyte, startMeasuredService } from "../harness/stall-doors.ts";
import { token } from "../harness/world.ts";

/**
 * Whatever an answer of 1 MiB holds that a tool's endpoint, an MCP server, a tracker or a model gives, the event loop uses less than
 * 50 ms of processor between two turns. Measured in the service itself. `FUZZ_SEED` repeats a run, `FUZZ_RUNS` makes a longer one.
 */
const bound = 50;

let model: Model;
/** An MCP server, the endpoint of a tool and a tracker, which answer what a door tells them. */
let outside: LoopbackServer;
let answer = "null";
/** Whether the MCP server answers with server-sent events. */
let isStream = false;
/** What the model calls. */
let calls: readonly ToolCall[] = [];
let service: MeasuredService;

beforeAll(async () => {
  model = await startModel({ script: () => ({ content: "Done.", tool_calls: calls }) });
  outside = await startLoopback({ handler: answerFromOutside, errorBody: () => ({}) });
  const tracker = {
    ALPHA_API_URL: `${outside.url}/alpha`,
    ALPHA_TOKEN: token,
    BETA_API_URL: `${outside.url}/beta`,
    BETA_TOKEN: token,
  };
  service = await startMeasuredService({ seed: true, env: { ...tracker, LLM_BASE_URL: model.url, LLM_MODEL: "scripted" } });
  await service.post("/api/mcp-servers", { name: "outside-mcp", url: `${outside.url}/mcp` });
  await service.post("/api/mcp-servers/discover");
  await service.post("/api/tools", { provider: "outside", name: "endpoint", endpoint: `${outside.url}/endpoint` });
  await service.warmUp(doors);
}, 180_000);
afterAll(async () => {
  await service?.close();
  await Promise.all([model?.close(), outside?.close()]);
}, 120_000);

async function answerFromOutside(request: Request): Promise<Response> {
  if (new URL(request.url).pathname !== "/mcp") return ofJson(answer);
  if (request.method !== "POST") return new Response(null, { status: 405 });
  const { id, method } = (await request.json()) as { id?: number; method: string };
  if (id === undefined) return new Response(null, { status: 202 });
  const results: Record<string, unknown> = {
    initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "o", version: "1" } },
    "tools/list": { tools: [{ name: "tool", inputSchema: { type: "object" } }] },
    "tools/call": here,
  };
  const message = jsonAround({ jsonrpc: "2.0", id, result: results[method] }, answer);
  if (!isStream || method !== "tools/call") return ofJson(message);
  const headers = { "content-type": "text/event-stream" };
  return new Response(`event: message\ndata: ${message}\n\n`, { headers });
}
const ofJson = (json: string) => new Response(json, { headers: { "content-type": "application/json" } });

/** Its answer is refused, or is not what the caller expects. */
const refused = (status: number): number => (status === 502 || status === 503 ? 413 : status);

/** Calls a tool that answers so. */
async function execute(tool: string, answered: string, parameters: object = {}): Promise<number> {
  answer = answered;
  return refused((await service.post(`/api/tools/${tool}/execute`, { parameters })).status);
}

/** Has the model call tools. */
async function chat(called: readonly ToolCall[]): Promise<number> {
  calls = called;
  const { status } = await service.post("/api/llm/chat", {
    agent_id: "pm_default",
    messages: [{ role: "user", content: "Hello" }],
  });
  calls = [];
  return refused(status);
}

const issue = { issue: "outside/a#1" };
/** What alpha answers, with more members. Beta's answers are no issues, so they are requested again. */
const alphaIssue = { ...(issueOpened({ repo: "outside/a", number: 1 }).issue as object), comments: 0 };
const answers = (name: string, takes: Door["takes"], run: Door["run"]) => door(name, takes, run, few);
const doors: readonly Door[] = [
  answers("an MCP server's text", "text", ({ text }) =>
    execute("outside-mcp.tool", JSON.stringify({ content: [{ type: "text", text: text.slice(0, mebibyte / 2) }] })),
  ),
  answers("members of an MCP server", "members", ({ members }) =>
    execute("outside-mcp.tool", jsonAround({ structuredContent: here }, members)),
  ),
  answers("a list of an MCP server", "list", ({ list }) =>
    execute("outside-mcp.tool", jsonAround({ structuredContent: { list: here } }, list)),
  ),
  answers("parts of an MCP server", "list", ({ list }) => execute("outside-mcp.tool", jsonAround({ content: here }, list))),
  answers("a stream of an MCP server", "list", async ({ list }) => {
    isStream = true;
    return execute("outside-mcp.tool", jsonAround({ structuredContent: { list: here } }, list)).finally(() => {
      isStream = false;
    });
  }),
  answers("members of an endpoint", "members", ({ members }) => execute("outside.endpoint", members)),
  answers("a list of an endpoint", "list", ({ list }) => execute("outside.endpoint", list)),
  answers("members of alpha's issue", "members", ({ members }) =>
    execute("alpha.get_issue", jsonAround({ ...alphaIssue, members: here }, members), issue),
  ),
  answers("a list of alpha's issue", "list", ({ list }) =>
    execute("alpha.get_issue", jsonAround({ ...alphaIssue, list: here }, list), issue),
  ),
  answers("members of beta", "members", ({ members }) => execute("beta.get_issue", members, issue)),
  answers("a list of beta", "list", ({ list }) => execute("beta.get_issue", list, issue)),
  answers("members in a model's call", "members", ({ members }) =>
    chat([{ name: "outside-mcp__tool", arguments: JSON.parse(members) }]),
  ),
  answers("a list in a model's call", "list", ({ list }) =>
    chat([{ name: "outside-mcp__tool", arguments: { list: JSON.parse(list) } }]),
  ),
  // As many calls as fit into 1 MiB.
  answers("a model's calls", "list", ({ list }) =>
    chat(
      JSON.parse(list)
        .slice(0, 10_000)
        .map(() => ({ name: "none", arguments: {} })),
    ),
  ),
];

test.each(doors.map((one) => [one.name, one] as const))("1 MiB, %s", { timeout: 120_000, tags: ["node"] }, (_, one) =>
  service.expectNoStall(bound, one, mebibyte - 40_000),
);
