import { firstProblem } from "../platform/issue-text.ts";
import { storable } from "../platform/json.ts";
import type { Host, ToolEntry } from "../plugins/host.ts";
import { checkParameters } from "./parameters.ts";
import { BadParameter, type RegisteredTool } from "./registered-tool.ts";
import { safeSchema } from "./safe-schema.ts";

/** The tools of the loaded plugins. `builtIns`: ids of the built-in ones. */
export const hostTools = (host: Pick<Host, "tools">, builtIns: ReadonlySet<string>): RegisteredTool[] =>
  [...host.tools.values()].map((entry) => fromEntry(entry, builtIns.has(entry.provider)));

function fromEntry(entry: ToolEntry, builtIn: boolean): RegisteredTool {
  const { tool } = entry;
  const { find, findAll, retract } = tool;
  return {
    qualifiedName: entry.qualifiedName,
    provider: entry.provider,
    name: entry.name,
    origin: builtIn ? "builtin" : "plugin",
    about: tool.about,
    category: tool.category ?? null,
    // If a model's API refuses one schema, it refuses every request that contains it.
    parameters: entry.sandboxed ? (safeSchema(entry.parameters) ?? { type: "object", properties: {} }) : entry.parameters,
    effect: tool.effect,
    idempotent: tool.idempotent === true,
    ...(tool.keeps_private && { keepsPrivate: true }),
    source: entry.source,
    takesProject: "project" in tool.input.shape,
    endpoint: null,
    agentId: null,
    available: true,
    parse: (input) => {
      if (entry.sandboxed) return checkParameters(entry.parameters, input);
      const parsed = tool.input.safeParse(input);
      if (parsed.success) return parsed.data;
      const { path, text } = firstProblem(parsed.error);
      throw new BadParameter(path, text);
    },
    run: async (input, use) => {
      const output = tool.output.parse(await tool.run(input, use));
      return entry.sandboxed ? storable(output) : output;
    },
    find: find ? (input, use) => find(input, use) : null,
    ...(findAll && { findAll: (input, use) => findAll(input, use) }),
    ...(retract && { retract: (input, output, use) => retract(input, output, use) }),
  };
}
