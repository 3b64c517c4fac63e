import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { nearestName } from "@signalbox/schema/nearest";
import { Problem } from "@signalbox/schema/problem";
import { unavailableAnswer } from "../../platform/database/unavailable.ts";
import { type Context, withSignal } from "../../platform/operation.ts";
import { messageError } from "./check-message.ts";
import type { McpTool } from "./tool.ts";

const instructions =
  "Signalbox turns events from issue trackers into AI-agent work. Tools named <noun>_<verb> manage it (agents, tasks, memory, executions, …); tools named <provider>__<tool> act at a tracker or another system, and are recorded.";

/** Never used, because the server sends no requests to clients. Without it, each request would create a validator. */
const noValidator = {
  getValidator: () => () => ({ valid: true as const, data: undefined as never, errorMessage: undefined }),
};

interface Serving {
  readonly tools: readonly McpTool[];
  readonly context: Context;
  readonly version: string;
}

/** Answers one request whose body was already read. */
export async function answerCall(request: Request, parsedBody: unknown, serving: Serving): Promise<Response> {
  const fault = messageError(parsedBody);
  if (fault) return Response.json(fault.body, { status: fault.status });
  const server = serverFor(serving);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody });
  } finally {
    await server.close();
  }
}

/** The server of one request. It has no state, so any replica can answer the next one. */
function serverFor({ tools, context, version }: Serving): Server {
  const { actor } = context;
  const server = new Server(
    { name: "signalbox", title: "Signalbox", version },
    { capabilities: { tools: {} }, instructions, jsonSchemaValidator: noValidator },
  );
  const may = ({ scope }: McpTool) => scope === "open" || actor.scopes.includes(scope);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.filter(may).map(({ definition }) => definition) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = tools.find(({ definition }) => definition.name === params.name);
    if (!tool) {
      const names = tools.filter(may).map(({ definition }) => definition.name);
      throw invalidParams(`There is no tool ${JSON.stringify(params.name)}; ${suggestion(params.name, names)}`);
    }
    if (!may(tool)) {
      const has = actor.scopes.join(", ");
      throw invalidParams(`${params.name} needs the scope ${tool.scope}; the API key has ${has}`);
    }
    try {
      return answer(await tool.call(params.arguments ?? {}, withSignal(context, signal)));
    } catch (error) {
      return { isError: true, content: [{ type: "text", text: messageOf(error, params.name, context) }] };
    }
  });
  return server;
}

/** No `McpError`: it prefixes the message with "MCP error -32602", and so does the client. */
const invalidParams = (message: string): Error => Object.assign(new Error(message), { code: ErrorCode.InvalidParams });

/** People write `agents.list`, the name of the operation, for `agents_list`. */
function suggestion(name: string, names: readonly string[]): string {
  const nearest = nearestName(name, names);
  return nearest === null ? "tools/list names them" : `did you mean "${nearest}"?`;
}

/** A structured result, and the same as text for clients that read only text. */
const answer = (structuredContent: Record<string, unknown>): CallToolResult => ({
  structuredContent,
  content: [{ type: "text", text: JSON.stringify(structuredContent) }],
});

/** The error text for the model, so that it can correct its call. The text of an unexpected error is only logged. */
function messageOf(error: unknown, name: string, { log, signal }: Context): string {
  if (error instanceof Problem) return error.message;
  const unavailable = unavailableAnswer(error);
  if (unavailable) return unavailable.message;
  if (!signal.aborted) log.error("an MCP call failed", { tool: name, error });
  return "Internal error; see the service's log.";
}
