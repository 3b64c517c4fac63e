import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import type { Scope } from "@signalbox/schema/operation";
import type { Context } from "../../platform/operation.ts";

/** Something that a client may call. */
export interface McpTool {
  /** The noun of an operation, or the provider of a tool: what `/mcp?only=` chooses by. */
  readonly group: string;
  /** What an API key must allow. A key that does not allow it does not see the tool. */
  readonly scope: Scope;
  readonly listed: Tool;
  /** Gives the structured content. Throws a `Problem`. */
  call(given: Record<string, unknown>, context: Context): Promise<Record<string, unknown>>;
}
