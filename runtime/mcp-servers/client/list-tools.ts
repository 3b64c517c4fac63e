import { z } from "zod";
import { isFunctionName } from "../../llm/function-names.ts";
import { withHash } from "../../tools/function-name.ts";
import { safeSchema } from "../../tools/safe-schema.ts";
import { ServerFault } from "./server-fault.ts";
import { type SessionOptions, withSession } from "./session.ts";

/** A tool listed by an MCP server, checked and safe to offer to a model. */
export interface McpTool {
  /** Second part of the qualified name: the server's own name for the tool if it is a valid one. */
  readonly name: string;
  /** The server's name for the tool, used in calls. */
  readonly remote_name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: Record<string, unknown>;
  readonly read_only: boolean;
  readonly idempotent: boolean;
}

interface ToolList {
  readonly tools: readonly McpTool[];
  /** The omitted tools with reasons; `null` if there are none. */
  readonly left_out: string | null;
}

const maxTools = 200;
const maxPages = 20;
const maxDescriptionLength = 4_000;
/** Size limits of one tool's schema and of all tools of a server, characters: they are part of every prompt. */
const maxSchemaLength = 16_384;
const maxListLength = 131_072;

/** Validates only the outer structure, so that one invalid tool does not invalidate the others. */
const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional().catch(undefined) });

/** Lists the tools of a server. Throws `ServerFault`. */
export function listTools(options: SessionOptions): Promise<ToolList> {
  return withSession(options, async (client) => {
    if (!client.getServerCapabilities()?.tools) return { tools: [], left_out: null };
    const entries: unknown[] = [];
    const seenCursors = new Set<string>();
    let cursor: string | undefined;
    do {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await client
        .request({ method: "tools/list", params }, page, { timeout: options.timeoutMs })
        .catch((error) => {
          if (error instanceof z.ZodError || error?.name === "ZodError" || error?.name === "$ZodError")
            throw new ServerFault("returned an invalid answer to tools/list", error);
          throw error;
        });
      entries.push(...answer.tools);
      cursor = answer.nextCursor;
      if (cursor === undefined || seenCursors.has(cursor)) break;
      seenCursors.add(cursor);
    } while (seenCursors.size < maxPages && entries.length <= maxTools);
    return readTools(entries);
  });
}

const toolShape = z.object({
  name: z.string().min(1).max(256),
  description: z.string().optional().catch(undefined),
  inputSchema: z.unknown().optional(),
  annotations: z.object({ readOnlyHint: z.unknown(), idempotentHint: z.unknown() }).partial().optional().catch(undefined),
  execution: z.object({ taskSupport: z.unknown() }).partial().optional().catch(undefined),
});

/** Selects the tools that can be offered, with reasons for the others. */
export function readTools(entries: readonly unknown[]): ToolList {
  const tools = new Map<string, McpTool>();
  const reasons: string[] = [];
  let size = 0;
  for (const one of entries) {
    const tool = readTool(one);
    if (typeof tool === "string") {
      reasons.push(tool);
      continue;
    }
    size += JSON.stringify(tool).length;
    if (tools.has(tool.name)) reasons.push(`${tool.remote_name}: duplicate name`);
    else if (tools.size === maxTools) reasons.push(`${tool.remote_name}: the server has more than ${maxTools} tools`);
    else if (size > maxListLength) reasons.push(`${tool.remote_name}: the tool descriptions exceed ${maxListLength} characters`);
    else tools.set(tool.name, tool);
  }
  return { tools: [...tools.values()], left_out: reasons.length > 0 ? summary(reasons) : null };
}

/** The tool, or the reason to omit it. */
function readTool(entry: unknown): McpTool | string {
  const parsed = toolShape.safeParse(entry);
  if (!parsed.success) return "a tool without a name of at most 256 characters";
  const { name, description, inputSchema, annotations, execution } = parsed.data;
  const shownName = JSON.stringify(name.slice(0, 80));
  if (name.includes("\0") || !name.isWellFormed()) return `${shownName}: the name contains invalid characters`;
  if (execution?.taskSupport === "required") return `${shownName}: it requires task execution, which is not supported`;
  const parameters = safeSchema(inputSchema);
  if (!parameters) return `${shownName}: its inputSchema must describe an object`;
  if (JSON.stringify(parameters).length > maxSchemaLength)
    return `${shownName}: its inputSchema is larger than ${maxSchemaLength} characters`;
  return {
    name: toolName(name),
    remote_name: name,
    description: (description ?? "").slice(0, maxDescriptionLength).replaceAll("\0", "").toWellFormed(),
    parameters,
    read_only: annotations?.readOnlyHint === true,
    idempotent: annotations?.idempotentHint === true,
  };
}

/** The server's name for its tool if it is valid in a qualified name, else a unique name derived from it. */
export const toolName = (remote: string): string => (isFunctionName(remote) ? remote : withHash(remote, remote));

function summary(reasons: readonly string[]): string {
  const more = reasons.length > 5 ? `; and ${reasons.length - 5} more` : "";
  return `${reasons.length} of its tools omitted: ${reasons.slice(0, 5).join("; ")}${more}`.slice(0, 2_000);
}
