import { z } from "zod";
import { prose, seedResult, slug, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const roles = ["pm", "ta", "qa", "dev", "hub"] as const;
export const trustLevels = ["default", "trusted", "privileged"] as const;
export const trustLevel = z.enum(trustLevels).meta({ id: "TrustLevel" });
const roleId = z.enum(roles).meta({ id: "RoleId" });

const persona = {
  name: text(200).describe("Display name."),
  role_id: roleId.describe("pm: requirements; ta: architecture; qa: testing; dev: implementation; hub: orchestration."),
  description: prose(2_000).nullish().describe("Short description."),
  prompt: text(100_000).describe("Core system prompt."),
  context: prose(100_000).nullish().describe("Background, placed before the prompt."),
  identity: prose(20_000).nullish().describe("Personality."),
  responsibilities: z.array(text(2_000)).max(200).describe("What the agent is there for."),
  constraints: z.array(text(2_000)).max(200).describe("Hard rules: what the agent must never do."),
  communication_style: prose(20_000).nullish(),
  model: text(200).nullish().describe("Model to use instead of `LLM_MODEL`."),
  temperature: z.number().min(0).max(2).nullish(),
  allowed_tools: z
    .array(z.string().regex(/^[\w-]+\.([\w-]+|\*)$/, "must be a qualified tool name such as alpha.add_comment, or alpha.*"))
    .max(500)
    .nullish()
    .describe("Exactly the tools offered to this agent, by qualified name or `provider.*`. Absent: those of the event."),
  trust_level: trustLevel.describe("Rate limit of the agent on the gRPC gateway."),
};

const secret = {
  auth_enabled: z
    .boolean()
    .describe(
      "Over gRPC the agent registers with its `auth_secret`. Without: with none, so set it where strangers reach the port.",
    ),
  auth_secret: z.string().min(1, "must not be empty").max(1_000).describe("Write-only; stored hashed. Make it long and random."),
};

export const agent = z
  .object({
    id: slug,
    ...persona,
    auth_enabled: secret.auth_enabled,
    capabilities: z.array(z.string()),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Agent" });

const lists = {
  responsibilities: persona.responsibilities.default([]),
  constraints: persona.constraints.default([]),
  trust_level: persona.trust_level.default("default"),
  auth_enabled: secret.auth_enabled.default(false),
  auth_secret: secret.auth_secret.optional(),
};

export const agentInput = z.object({ id: slug, ...persona, ...lists });
export const agentChange = z
  .object({ ...persona, ...secret })
  .partial()
  .extend({ id: slug });

export const list = operation({
  id: "agents.list",
  http: "GET /api/agents",
  rpc: "AgentService.ListAgents",
  summary: "List the agents.",
  input: z.object(paging),
  output: pageOf(agent),
});
export const get = operation({
  id: "agents.get",
  http: "GET /api/agents/:id",
  rpc: "AgentService.GetAgent",
  summary: "Get one agent.",
  input: z.object({ id: slug }),
  output: agent,
  problems: ["not_found"],
});
export const create = operation({
  id: "agents.create",
  http: "POST /api/agents",
  rpc: "AgentService.CreateAgent",
  summary: "Create an agent: a persona with a role and a system prompt.",
  input: agentInput,
  output: agent,
  status: 201,
  problems: ["conflict"],
});
export const update = operation({
  id: "agents.update",
  http: "PUT /api/agents/:id",
  rpc: "AgentService.UpdateAgent",
  summary: "Change some members of an agent.",
  input: agentChange,
  output: agent,
  problems: ["not_found"],
});
export const remove = operation({
  id: "agents.delete",
  http: "DELETE /api/agents/:id",
  rpc: "AgentService.DeleteAgent",
  summary: "Delete an agent. Its tasks stay and run on their `actor_fallback`.",
  input: z.object({ id: slug }),
  problems: ["not_found"],
});
export const seed = operation({
  id: "agents.seed",
  http: "POST /api/agents/seed",
  rpc: "AgentService.SeedAgents",
  summary: "Create the five default agents; those that exist are left alone.",
  output: seedResult,
});
