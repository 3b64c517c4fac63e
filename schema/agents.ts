import { z } from "zod";
import { prose, seedResult, slug, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";
import { policy } from "./policy.ts";

export const roles = ["pm", "ta", "qa", "dev", "hub"] as const;
export const trustLevels = ["default", "trusted", "privileged"] as const;
export const trustLevel = z.enum(trustLevels).meta({ id: "TrustLevel" });
const roleId = z.enum(roles).meta({ id: "RoleId" });

const persona = {
  name: text(200).describe("Display name."),
  role_id: roleId.describe(
    "The agent's role. `pm`: requirements; `ta`: architecture; `qa`: testing; `dev`: implementation; `hub`: orchestration.",
  ),
  description: prose(2_000).nullish().describe("Short description."),
  prompt: text(100_000).describe("System prompt."),
  context: prose(100_000).nullish().describe("Background information, placed before the prompt."),
  identity: prose(20_000).nullish().describe("The agent's personality."),
  responsibilities: z.array(text(2_000)).max(200).describe("What the agent is responsible for."),
  constraints: z.array(text(2_000)).max(200).describe("Hard rules: what the agent must never do."),
  communication_style: prose(20_000).nullish().describe("Tone and style of the agent's answers."),
  model: text(200).nullish().describe("Model that the agent uses. Default: `LLM_MODEL`."),
  temperature: z.number().min(0).max(2).nullish().describe("Sampling temperature, 0 to 2. Default: the model's default."),
  allowed_tools: z
    .array(z.string().regex(/^[\w-]+\.([\w-]+|\*)$/, "must be a qualified tool name such as alpha.add_comment, or alpha.*"))
    .max(500)
    .nullish()
    .describe(
      "Tools that the agent can call, by qualified name or `provider.*`. Default: the tools of the event's source and of every provider that is not a source.",
    ),
  policy: policy.describe("The agent's limits. They can only tighten the limits of the settings and the project."),
  trust_level: trustLevel.describe("The agent's rate limit on the gRPC gateway. Default: `default`."),
};

const secret = {
  auth_enabled: z
    .boolean()
    .describe(
      "Whether the agent must send its `auth_secret` to register over gRPC. If false, anyone who can reach the gRPC port can register as this agent. Default: `false`.",
    ),
  auth_secret: z
    .string()
    .min(1, "must not be empty")
    .max(1_000)
    .describe("Secret that the agent sends to register over gRPC. Write-only and stored hashed; use a long random value."),
};

export const agent = z
  .object({
    id: slug,
    ...persona,
    auth_enabled: secret.auth_enabled,
    capabilities: z.array(z.string()).describe("The agent's capability labels."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Agent" });

const lists = {
  responsibilities: persona.responsibilities.default([]),
  constraints: persona.constraints.default([]),
  policy: persona.policy.default({}),
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
  summary: "List agents",
  input: z.object(paging),
  output: pageOf(agent),
});
export const get = operation({
  id: "agents.get",
  http: "GET /api/agents/:id",
  rpc: "AgentService.GetAgent",
  summary: "Get an agent",
  input: z.object({ id: slug }),
  output: agent,
  problems: ["not_found"],
});
export const create = operation({
  id: "agents.create",
  http: "POST /api/agents",
  rpc: "AgentService.CreateAgent",
  summary: "Create an agent",
  description: "An agent is a persona with a role and a system prompt.",
  input: agentInput,
  output: agent,
  status: 201,
  problems: ["already_exists"],
});
export const update = operation({
  id: "agents.update",
  http: "PUT /api/agents/:id",
  rpc: "AgentService.UpdateAgent",
  summary: "Update an agent",
  description: "Omitted members keep their values.",
  input: agentChange,
  output: agent,
  problems: ["not_found"],
});
export const remove = operation({
  id: "agents.delete",
  http: "DELETE /api/agents/:id",
  rpc: "AgentService.DeleteAgent",
  summary: "Delete an agent",
  description: "Keeps the agent's tasks, which then use their `actor_fallback`.",
  input: z.object({ id: slug }),
  problems: ["not_found"],
});
export const seed = operation({
  id: "agents.seed",
  http: "POST /api/agents/seed",
  rpc: "AgentService.SeedAgents",
  summary: "Create the default agents",
  description: "Creates five agents. Existing agents are not changed.",
  output: seedResult,
});
