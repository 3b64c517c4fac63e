import { z } from "zod";
import { rowId, seedResult, slug, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

/** A label of an agent. A task that requires labels is routed to the agent that has the highest share of them. */
export const capability = z
  .object({ id: rowId, agent_id: slug, capability: z.string(), created_at: timestamp })
  .meta({ id: "Capability" });

export const list = operation({
  id: "agents.list-capabilities",
  http: "GET /api/agents/:id/capabilities",
  rpc: "AgentService.ListCapabilities",
  summary: "List an agent's capabilities",
  input: z.object({ id: slug, ...paging }),
  output: pageOf(capability),
  problems: ["not_found"],
});
export const add = operation({
  id: "agents.add-capability",
  http: "POST /api/agents/:id/capabilities",
  rpc: "AgentService.AddCapability",
  summary: "Add a capability to an agent",
  input: z.object({
    id: slug,
    capability: text(100).describe(
      "Capability label, for example `code_review`. Tasks must use exactly this spelling to require it.",
    ),
  }),
  output: capability,
  status: 201,
  problems: ["not_found", "already_exists"],
});
export const remove = operation({
  id: "agents.remove-capability",
  http: "DELETE /api/agents/:id/capabilities/:capability_id",
  rpc: "AgentService.RemoveCapability",
  summary: "Remove a capability from an agent",
  input: z.object({ id: slug, capability_id: rowId.describe("`id` of the capability.") }),
  problems: ["not_found"],
});
export const seed = operation({
  id: "agents.seed-capabilities",
  http: "POST /api/agents/capabilities/seed",
  rpc: "AgentService.SeedCapabilities",
  summary: "Create the default capabilities",
  description: "Creates ten capabilities of the default agents. Skips existing capabilities and missing agents.",
  output: seedResult,
});
