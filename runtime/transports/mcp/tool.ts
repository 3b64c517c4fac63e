import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import type { Scope } from "@signalbox/schema/operation";
import type { Context } from "../../platform/operation.ts";

/** A tool that a client may call. */
export interface McpTool {
  /** The noun of an operation, or the provider of a tool. `/mcp?only=` selects tools by it. */
  readonly group: string;
  /** The scope that an API key needs. Without it, a key does not see the tool. */
  readonly scope: Scope;
  readonly definition: Tool;
  /** Returns the structured content. Throws a `Problem`. */
  call(input: Record<string, unknown>, context: Context): Promise<Record<string, unknown>>;
}
