import { z } from "zod";
import { rowId, seedResult, slug, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

/** A label of an agent. Tasks that require labels go to the agent with the highest share of them. */
export const capability = z
  .object({ id: rowId, agent_id: slug, capability: z.string(), created_at: timestamp })
  .meta({ id: "Capability" });

export const list = operation({
  id: "agents.list-capabilities",
  http: "GET /api/agents/:id/capabilities",
  rpc: "AgentService.ListCapabilities",
  summary: "List an agent's capabilities.",
  input: z.object({ id: slug, ...paging }),
  output: pageOf(capability),
  problems: ["not_found"],
});
export const add = operation({
  id: "agents.add-capability",
  http: "POST /api/agents/:id/capabilities",
  rpc: "AgentService.AddCapability",
  summary: "Give an agent a capability: any label, for example code_review.",
  input: z.object({ id: slug, capability: text(100).describe("Any label; tasks require it in exactly these words.") }),
  output: capability,
  status: 201,
  problems: ["not_found", "conflict"],
});
export const remove = operation({
  id: "agents.remove-capability",
  http: "DELETE /api/agents/:id/capabilities/:capability_id",
  rpc: "AgentService.RemoveCapability",
  summary: "Take a capability from an agent.",
  input: z.object({ id: slug, capability_id: rowId.describe("The `id` of the capability's row.") }),
  problems: ["not_found"],
});
export const seed = operation({
  id: "agents.seed-capabilities",
  http: "POST /api/agents/capabilities/seed",
  rpc: "AgentService.SeedCapabilities",
  summary: "Give the default agents their ten capabilities; those that are there, and agents that are not, are passed over.",
  output: seedResult,
});
