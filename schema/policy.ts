import { z } from "zod";

/** Who somebody is in the project of an event, from the most to the least trusted. `unknown`: the platform does not say. */
export const standings = ["owner", "member", "collaborator", "contributor", "none", "unknown"] as const;
export const standing = z.enum(standings).meta({ id: "Standing" });
/** A standing that a rule can require. */
export const requiredStanding = z
  .enum(["owner", "member", "collaborator", "contributor", "none"])
  .meta({ id: "RequiredStanding" });
export const authorKind = z.enum(["human", "bot", "app", "unknown"]).meta({ id: "AuthorKind" });

/** Who caused an event, as far as the platform tells. */
export const author = z
  .object({
    id: z.string().nullable().describe("Account id at the platform; null if the platform does not send one."),
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
  trigger_allowed_bots: names("Bots and apps, by login, whose events start runs; `*` for all."),
  trigger_min_standing: requiredStanding.describe("Lowest standing whose events start runs."),
  write_min_standing: requiredStanding.describe("Lowest standing whose runs are offered tools that write."),
  loop_max_hops: count(1000).describe("Events in a row, each soon after a write of ours, before the next one is held. 0: none."),
  run_tokens: tokens.describe("Tokens that one execution may use. 0: no limit."),
  run_seconds: count(86_400).describe("Seconds that one execution may work. 0: no limit."),
  run_writes: count(10_000).describe("Writes by tools in one execution. 0: no limit."),
  issue_runs_per_hour: count(1_000_000).describe("Executions that may begin on one issue in an hour. 0: no limit."),
  issue_tokens_per_day: tokens.describe("Tokens that the executions on one issue may use in a day. 0: no limit."),
  author_runs_per_hour: count(1_000_000).describe(
    "Executions an hour for one author whose known standing is below collaborator. 0: no limit.",
  ),
  day_tokens: tokens.describe("Tokens a day. 0: no limit."),
  day_usd: dollars.describe("US dollars a day. 0: no limit."),
  month_usd: dollars.describe("US dollars a calendar month. 0: no limit."),
  on_close: z
    .enum(["cancel", "finish"])
    .describe("What happens to the executions of an issue that is closed: `cancel` or `finish`."),
  targets: z
    .enum(["issue", "project", "any"])
    .describe("Where tools may write: the issue of the event, its project, or anywhere."),
  reads: z.enum(["project", "any"]).describe("Where tools may read: the project of the event, or anywhere."),
  allow: z
    .array(z.enum(["mentions", "images", "closing", "commands"]))
    .max(4)
    .describe("What texts may contain unchanged: mentions, images of other hosts, closing keywords, commands to bots."),
  staged: z.boolean().describe("Whether everything that the agent would write waits for approval."),
  approve: names("Writes that wait for approval: qualified tool names, `provider.*`, or `comment` for the answer."),
  presence: z
    .enum(["off", "reaction", "comment"])
    .describe("How the issue shows that an agent works: not at all, by a reaction, or by one comment that is edited."),
};

/** What an agent may do, and how often. Absent members are those of the level above. */
export const policy = z.object(policyMembers).partial().strict().meta({ id: "Policy" });
