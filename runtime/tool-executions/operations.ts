import { namesIn } from "@signalbox/schema/history";
import { problem } from "@signalbox/schema/problem";
import { execute, listExecutions } from "@signalbox/schema/tools";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { findMeant } from "../subject-names/queries.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import { type ExecuteDeps, executeTool } from "./execute.ts";
import { listToolExecutions } from "./queries.ts";

export interface ToolExecutionDeps extends ExecuteDeps {
  readonly registry: ToolRegistry;
  /** Names of the sources that a subject may belong to. */
  readonly sources: () => Iterable<string>;
}

/** Runs a tool once at an operator's request, and lists previous runs. */
export function toolExecutionOperations({ registry, sources, ...deps }: ToolExecutionDeps): BoundOperation[] {
  const isListed = (name: string) => registry.listTools().some((one) => one.qualified_name === name);
  return [
    handle(listExecutions, async ({ subject, fields, ...filter }, { sql }) =>
      listToolExecutions(sql, {
        ...filter,
        subjects: subject === undefined ? undefined : await findMeant(sql, subject, sources()),
        whole: namesIn(fields).includes("result"),
      }),
    ),
    handle(execute, async ({ qualified_name, parameters }, context) => {
      const tool = registry.get(qualified_name);
      if (tool) return executeTool(tool, parameters, context, deps);
      if (!isListed(qualified_name)) throw problem("not_found", `There is no tool "${qualified_name}".`);
      throw problem("unavailable", `${qualified_name} has no endpoint, and no loaded plugin or MCP server provides it.`);
    }),
  ];
}
