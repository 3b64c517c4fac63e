import { fieldProblem, Problem, problem } from "@signalbox/schema/problem";
import * as tools from "@signalbox/schema/tools";
import type { Bus } from "../platform/bus.ts";
import { addressFor } from "../platform/network/masked-url.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { defaultTools } from "./defaults.ts";
import { deleteTool, insertTools, type ToolChange, updateTool } from "./queries.ts";
import type { ListedTool, ToolRegistry } from "./registry.ts";

export interface ToolDeps {
  readonly registry: ToolRegistry;
  readonly bus: Bus;
  /** Throws the problem `bad_request` for an address that the service may not contact. */
  readonly checkAddress: (url: string) => Promise<void>;
}

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** The operations on tools. Every change is published before the request is answered, so the next run uses it. */
export function toolOperations({ registry, bus, checkAddress }: ToolDeps): BoundOperation[] {
  const publishChange = () => bus.publish("tools");
  const find = (name: string) => registry.listTools().find((one) => one.qualified_name === name);
  const toListed = (name: string): ListedTool => {
    const tool = find(name);
    if (tool?.stored) return tool;
    throw problem(
      "not_found",
      tool
        ? `${name} has no stored description: its provider describes it. To store another description, send POST /api/tools.`
        : `There is no tool "${name}".`,
    );
  };
  const checkEndpoint = async (name: string, endpoint: string | null | undefined) => {
    if (endpoint === null || endpoint === undefined) return;
    const tool = registry.get(name);
    if (tool && tool.origin !== "database")
      throw problem(
        "wrong_state",
        `endpoint: ${name} is run by its provider, so it cannot have an endpoint; omit endpoint to change only its description`,
        {
          field: "endpoint",
        },
      );
    const { protocol, hostname } = new URL(endpoint);
    if (protocol !== "https:" && !loopback.test(hostname))
      throw fieldProblem("endpoint", "must be an https URL; http is allowed only for this machine");
    await checkAddress(endpoint).catch((error) => {
      throw error instanceof Problem ? problem(error.code, `endpoint: ${error.message}`, { field: "endpoint" }) : error;
    });
  };
  return [
    handle(tools.list, async ({ limit, offset }, { actor }) => {
      const all = registry.listTools();
      const items = all.slice(offset, offset + limit).map((one) => {
        return { ...one, endpoint: one.endpoint === null ? null : addressFor(actor, one.endpoint) };
      });
      return { items, total: all.length };
    }),
    handle(tools.create, async ({ provider, name, ...definition }, { sql }) => {
      const qualifiedName = `${provider}.${name}`;
      await checkEndpoint(qualifiedName, definition.endpoint);
      const { description = null, category = null, parameters = null, endpoint = null } = definition;
      const [created] = await insertTools(sql, [{ provider, name, description, category, parameters, endpoint }]);
      if (!created) throw problem("already_exists", `name: the tool "${qualifiedName}" is already stored`, { field: "name" });
      await publishChange();
      return registry.describe(created);
    }),
    handle(tools.seed, async (_, { sql }) => {
      const created = (await insertTools(sql, defaultTools)).length;
      await publishChange();
      return { created, skipped: defaultTools.length - created };
    }),
    handle(tools.update, async ({ qualified_name, ...changes }, { sql }) => {
      const { provider, name } = toListed(qualified_name);
      await checkEndpoint(qualified_name, changes.endpoint);
      const change = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as ToolChange;
      if (!(await updateTool(sql, { provider, name }, change)))
        throw problem("not_found", `There is no tool "${qualified_name}".`);
      await publishChange();
      return toListed(qualified_name);
    }),
    handle(tools.remove, async ({ qualified_name }, { sql }) => {
      if (!(await deleteTool(sql, toListed(qualified_name)))) throw problem("not_found", `There is no tool "${qualified_name}".`);
      await publishChange();
      return {};
    }),
  ];
}
