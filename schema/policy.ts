import { z } from "zod";
import { rowId, slug } from "./common.ts";
import { operation } from "./operation.ts";

/** An author's role in the project of an event, from the most to the least trusted. `unknown`: the platform does not say. */
export const standings = ["owner", "member", "collaborator", "contributor", "none", "unknown"] as const;
export const standing = z.enum(standings).meta({ id: "Standing" });
/** A standing that a rule can require. */
export const requiredStandings = ["owner", "member", "collaborator", "contributor", "none"] as const;
export const requiredStanding = z.enum(requiredStandings).meta({ id: "RequiredStanding" });
export const authorKind = z.enum(["human", "bot", "app", "unknown"]).meta({ id: "AuthorKind" });

/** Who caused an event, as far as the platform says. */
export const author = z
  .object({
    id: z.string().nullable().describe("Account id on the platform; null if the platform does not send one."),
    name: z.string().nullable().describe("Login or display name."),
    kind: authorKind,
    standing,
  })
  .meta({ id: "EventAuthor" });

const count = (max: number) => z.int().min(0).max(max);
const tokens = count(1_000_000_000_000);
const dollars = z.number().min(0).max(1_000_000_000);
const names = (about: string) => z.array(z.string().trim().min(1).max(200)).max(500).describe(about);

/** Every limit of a policy, each with its own schema. A level sets the members that it narrows. */
export const policyMembers = {
  trigger_allowed_bots: names("Logins of the bots and apps whose events start runs; `*` for all."),
  trigger_min_standing: requiredStanding.describe("Minimum standing of an author to start runs."),
  write_min_standing: requiredStanding.describe("Minimum standing of an author for runs to use tools that write."),
  loop_max_hops: count(1000).describe(
    "Consecutive replies to Signalbox's own writes on one issue before the next one is held. 0: no limit.",
  ),
  run_tokens: tokens.describe("Tokens that one execution can use. 0: no limit."),
  run_seconds: count(86_400).describe("Seconds that one execution can work. 0: no limit."),
  run_writes: count(10_000).describe("Writes by tools in one execution. 0: no limit."),
  issue_runs_per_hour: count(1_000_000).describe("Executions that can start on one issue in an hour. 0: no limit."),
  issue_tokens_per_day: tokens.describe("Tokens that the executions on one issue can use in a day. 0: no limit."),
  author_runs_per_hour: count(1_000_000).describe(
    "Executions per hour for one author whose known standing is below collaborator. 0: no limit.",
  ),
  day_tokens: tokens.describe("Tokens per day. 0: no limit."),
  day_usd: dollars.describe("US dollars per day. 0: no limit."),
  month_usd: dollars.describe("US dollars per calendar month. 0: no limit."),
  on_close: z
    .enum(["cancel", "finish"])
    .describe("What happens to an issue's executions when it is closed: `cancel` or `finish`."),
  targets: z.enum(["issue", "project", "any"]).describe("Where tools can write: the event's issue, its project, or anywhere."),
  reads: z.enum(["project", "any"]).describe("Where tools can read: the event's project, or anywhere."),
  allow: z
    .array(z.enum(["mentions", "images", "closing", "commands"]))
    .max(4)
    .describe(
      "What the agent's text may contain: mentions, images from other hosts, closing keywords, commands to bots. Everything else is defused.",
    ),
  staged: z.boolean().describe("Whether all of the agent's writes wait for approval."),
  approve: names("Writes that wait for approval: qualified tool names, `provider.*`, or `comment` for the answer."),
  presence: z
    .enum(["off", "reaction", "comment"])
    .describe(
      "How the issue shows that an agent is working: not at all, with a reaction, or with a living comment: one comment that the agent keeps editing.",
    ),
};

/** What an agent may do, and how often. Absent members are those of the level above. */
export const policy = z.object(policyMembers).partial().strict().meta({ id: "Policy" });

export type RequiredStanding = z.output<typeof requiredStanding>;
export type PolicyMembers = typeof policyMembers;
export type PolicyMember = keyof PolicyMembers;
export type Policy = z.output<typeof policy>;

/** Where a limit is set: in the environment of the service, in the project or in the agent. */
export const policyLevels = ["settings", "project", "agent"] as const;
export type PolicyLevel = (typeof policyLevels)[number];
const level = z.enum(policyLevels).meta({ id: "PolicyLevel" }).describe("Level that sets the value.");

type EffectiveMembers = {
  [M in PolicyMember]: z.ZodObject<{ value: PolicyMembers[M]; level: typeof level }>;
};
const effectiveMembers = Object.fromEntries(
  Object.entries(policyMembers).map(([name, value]) => [name, z.object({ value, level })]),
) as EffectiveMembers;

/** Every limit with its value, and the level that sets it. */
export const effectivePolicy = z.object(effectiveMembers).meta({ id: "EffectivePolicy" });
export type EffectivePolicy = z.output<typeof effectivePolicy>;

export const get = operation({
  id: "policy.get",
  http: "GET /api/policy",
  rpc: "PolicyService.GetPolicy",
  summary: "Get the effective policy",
  description:
    "Combines the service's settings with the policies of a project and an agent, and returns the level that sets each value. For numbers, the smallest value applies (0: no limit). For lists, only entries in the lists of all levels apply; `approve` combines the entries of all levels. For other members, the strictest value applies.",
  input: z.object({
    agent_id: slug.optional().describe("Agent whose policy applies. Default: none."),
    project_id: rowId.optional().describe("Project whose policy applies. Default: none."),
  }),
  output: z
    .object({ agent_id: slug.nullable(), project_id: rowId.nullable(), policy: effectivePolicy })
    .meta({ id: "AppliedPolicy" }),
});
