import {
  CallToolRequestSchema,
  ErrorCode,
  InitializeRequestSchema,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { issueText } from "../../platform/issue-text.ts";

const requests = new Map<unknown, typeof CallToolRequestSchema | typeof InitializeRequestSchema | typeof ListToolsRequestSchema>([
  ["initialize", InitializeRequestSchema],
  ["tools/list", ListToolsRequestSchema],
  ["tools/call", CallToolRequestSchema],
]);

/** Maximum number of messages in one body: their answers, each of which may be long, are in memory together. */
const maxMessages = 10;

const messageShape = '{"jsonrpc": "2.0", "id": string or integer, "method": string, "params": object}';

/** The response to an invalid body, in the format of JSON-RPC. */
interface Fault {
  readonly status: 200 | 400;
  readonly body: { jsonrpc: "2.0"; id: string | number | null; error: { code: number; message: string } };
}

/**
 * The error of a message; `null` if it is valid. The library would report missing `params` with an error of its own that contains
 * a dump.
 */
export function messageError(body: unknown): Fault | null {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  if (messages.length === 0) return invalid(null, "the batch is empty");
  if (messages.length > maxMessages)
    return invalid(null, `the batch has more than ${maxMessages} messages; send fewer at a time`);
  for (const [i, message] of messages.entries()) {
    const { id, method } = (typeof message === "object" && message !== null ? message : {}) as { id?: unknown; method?: unknown };
    const known = typeof id === "string" || (typeof id === "number" && Number.isInteger(id)) ? id : null;
    if (!JSONRPCMessageSchema.safeParse(message).success)
      return invalid(known, `${Array.isArray(body) ? `message ${i + 1} of the batch` : "a message"} must be ${messageShape}`);
    const issue = id === undefined ? undefined : requests.get(method)?.safeParse(message).error?.issues[0];
    if (issue) {
      const text = `${issue.path.join(".")}: ${issueText(issue)}`;
      return { status: 200, body: { jsonrpc: "2.0", id: known, error: { code: ErrorCode.InvalidParams, message: text } } };
    }
  }
  const ids = messages.flatMap((message) => {
    const { id, method } = message as { id?: string | number; method?: string };
    return method === undefined ? [] : (id ?? []);
  });
  const repeated = ids.find((id, i) => ids.indexOf(id) < i);
  // The list has half a megabyte, and is the same each time.
  if (messages.filter((message) => (message as { method?: unknown }).method === "tools/list").length > 1)
    return invalid(null, "the batch lists the tools more than once; send one tools/list");
  // The library would run both requests and answer one.
  if (repeated !== undefined)
    return invalid(null, `the batch has the id ${JSON.stringify(repeated)} more than once; give each request its own`);
  return null;
}

const invalid = (id: string | number | null, text: string): Fault => ({
  status: 400,
  body: { jsonrpc: "2.0", id, error: { code: ErrorCode.InvalidRequest, message: `Invalid request: ${text}` } },
});
