import * as capabilities from "@signalbox/schema/capabilities";
import { problem } from "@signalbox/schema/problem";
import { defaultCapabilities } from "../agents/defaults.ts";
import type { Queryable } from "../platform/database/client.ts";
import { handle } from "../platform/operation.ts";
import { deleteCapability, hasAgent, insertCapability, listCapabilities } from "./queries.ts";

const absent = (id: string) => problem("not_found", `There is no agent "${id}".`);

async function demandAgent(sql: Queryable, id: string): Promise<void> {
  if (!(await hasAgent(sql, id))) throw absent(id);
}

export const capabilityOperations = [
  handle(capabilities.list, async (input, { sql }) => {
    await demandAgent(sql, input.id);
    return listCapabilities(sql, input);
  }),
  handle(capabilities.add, async ({ id, capability }, { sql }) => {
    const row = await insertCapability(sql, id, capability);
    if (row) return row;
    await demandAgent(sql, id);
    throw problem("already_exists", `capability: the agent "${id}" already has the capability "${capability}"`, {
      field: "capability",
    });
  }),
  handle(capabilities.remove, async ({ id, capability_id }, { sql }) => {
    if (await deleteCapability(sql, id, capability_id)) return {};
    await demandAgent(sql, id);
    throw problem("not_found", `The agent "${id}" has no capability with the id ${capability_id}.`);
  }),
  handle(capabilities.seed, async (_, { sql }) => {
    let created = 0;
    for (const [agent, capability] of defaultCapabilities) if (await insertCapability(sql, agent, capability)) created++;
    return { created, skipped: defaultCapabilities.length - created };
  }),
];
