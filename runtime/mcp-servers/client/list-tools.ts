import { z } from "zod";
import { withHash } from "../../tools/function-name.ts";
import { safeSchema } from "../../tools/safe-schema.ts";
import { ServerFault } from "./server-fault.ts";
import { type SessionOptions, withSession } from "./session.ts";

/** A tool as an MCP server told of it, made safe to be offered. */
export interface McpTool {
  /** The second part of its qualified name; the server's own name where that is one. */
  readonly name: string;
  /** As the server is called with it. */
  readonly remote_name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: Record<string, unknown>;
  readonly read_only: boolean;
  readonly idempotent: boolean;
}

export interface Discovered {
  readonly tools: readonly McpTool[];
  /** Which tools were left out and why; `null` where none. */
  readonly left_out: string | null;
}

const mostTools = 200;
const mostPages = 20;
const longestAbout = 4_000;
/** JSON text of one tool's parameters, and of all tools of a server: they go into every prompt. */
const largestSchema = 16_384;
const largestList = 131_072;

/** Only what is needed to go on is asked of an answer: one bad tool must not lose the others. */
const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional().catch(undefined) });

/** Asks a server for its tools. Throws a `ServerFault`. */
export function listTools(options: SessionOptions): Promise<Discovered> {
  return withSession(options, async (client) => {
    if (!client.getServerCapabilities()?.tools) return { tools: [], left_out: null };
    const given: unknown[] = [];
    const seen = new Set<string>();
    let cursor: string | undefined;
    do {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await client
        .request({ method: "tools/list", params }, page, { timeout: options.timeoutMs })
        .catch((error) => {
          if (error instanceof z.ZodError || error?.name === "ZodError" || error?.name === "$ZodError")
            throw new ServerFault("answered tools/list with something that is not a list of tools", error);
          throw error;
        });
      given.push(...answer.tools);
      cursor = answer.nextCursor;
      if (cursor === undefined || seen.has(cursor)) break;
      seen.add(cursor);
    } while (seen.size < mostPages && given.length <= mostTools);
    return readTools(given);
  });
}

const told = z.object({
  name: z.string().min(1).max(256),
  description: z.string().optional().catch(undefined),
  inputSchema: z.unknown().optional(),
  annotations: z.object({ readOnlyHint: z.unknown(), idempotentHint: z.unknown() }).partial().optional().catch(undefined),
  execution: z.object({ taskSupport: z.unknown() }).partial().optional().catch(undefined),
});

/** What can be offered of the tools that a server told of. */
export function readTools(given: readonly unknown[]): Discovered {
  const tools = new Map<string, McpTool>();
  const reasons: string[] = [];
  let size = 0;
  for (const one of given) {
    const tool = readTool(one);
    if (typeof tool === "string") {
      reasons.push(tool);
      continue;
    }
    size += JSON.stringify(tool).length;
    if (tools.has(tool.name)) reasons.push(`${tool.remote_name}: there are two of that name`);
    else if (tools.size === mostTools) reasons.push(`${tool.remote_name}: it has more than ${mostTools} tools`);
    else if (size > largestList)
      reasons.push(`${tool.remote_name}: its tools are described in more than ${largestList} characters`);
    else tools.set(tool.name, tool);
  }
  return { tools: [...tools.values()], left_out: reasons.length > 0 ? summary(reasons) : null };
}

/** The tool, or why it is left out. */
function readTool(given: unknown): McpTool | string {
  const parsed = told.safeParse(given);
  if (!parsed.success) return "a tool without a name of at most 256 characters";
  const { name, description, inputSchema, annotations, execution } = parsed.data;
  const shown = JSON.stringify(name.slice(0, 80));
  if (name.includes("\0") || !name.isWellFormed()) return `${shown}: its name is not text`;
  if (execution?.taskSupport === "required") return `${shown}: it runs as a task only, which is not supported`;
  const parameters = safeSchema(inputSchema);
  if (!parameters) return `${shown}: its inputSchema does not describe an object`;
  if (JSON.stringify(parameters).length > largestSchema)
    return `${shown}: its inputSchema is larger than ${largestSchema} characters`;
  return {
    name: toolName(name),
    remote_name: name,
    description: (description ?? "").slice(0, longestAbout).replaceAll("\0", "").toWellFormed(),
    parameters,
    read_only: annotations?.readOnlyHint === true,
    idempotent: annotations?.idempotentHint === true,
  };
}

/** A server's name for its tool where that can stand in a qualified name, else one made from it that no other name makes. */
export const toolName = (remote: string): string =>
  /^[A-Za-z0-9_-]{1,64}$/.test(remote) ? remote : withHash(remote, remote, 64);

function summary(reasons: readonly string[]): string {
  const more = reasons.length > 5 ? `; and ${reasons.length - 5} more` : "";
  return `${reasons.length} of its tools left out: ${reasons.slice(0, 5).join("; ")}${more}`.slice(0, 2_000);
}
