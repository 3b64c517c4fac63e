import { isDeepStrictEqual } from "node:util";
import { sha256Of } from "../platform/digest.ts";
import type { McpTool } from "./client/list-tools.ts";
import type { ServerRow } from "./queries.ts";

/** A tool that differs from its approved form; `before` is `null` if it did not exist then. */
interface ToolChange {
  readonly before: McpTool | null;
  readonly after: McpTool;
}

/**
 * The tools of a server that differ from their approved form. A description is part of every prompt, so a server that changes it
 * later could inject any instruction. An approved tool that is missing is not reported, and is still approved when it returns.
 */
export function changesOf({ tools, approved }: Pick<ServerRow, "tools" | "approved">): ToolChange[] {
  const known = new Map((approved ?? []).map((tool) => [tool.remote_name, tool]));
  return tools.flatMap((after) => {
    const before = known.get(after.remote_name) ?? null;
    return isDeepStrictEqual(before, after) ? [] : [{ before, after }];
  });
}

/** The tools that may be offered. */
export function approvedTools(server: Pick<ServerRow, "tools" | "approved">): readonly McpTool[] {
  const changed = new Set(changesOf(server).map(({ after }) => after));
  return server.tools.filter((tool) => !changed.has(tool));
}

/** A digest of the tools that a server offers now, so that an approval covers exactly the tools that the operator saw. */
export const versionOf = ({ tools }: Pick<ServerRow, "tools">): string => sha256Of(JSON.stringify(tools)).slice(0, 16);

/** The newly approved tools: the current ones, and those that are temporarily absent. */
export function approvedWith({ tools, approved }: Pick<ServerRow, "tools" | "approved">): readonly McpTool[] {
  const now = new Set(tools.map(({ remote_name }) => remote_name));
  return [...tools, ...(approved ?? []).filter(({ remote_name }) => !now.has(remote_name))].slice(0, 1_000);
}
