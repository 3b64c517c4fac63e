import { z } from "zod";
import { amount, integer, list, maxTokens, minStanding, yesNo } from "../config-values.ts";
import { modelPrices } from "../model-prices.ts";

/** What may start a run, and what a run may use and write. */
export const trust = {
  WEBHOOK_REPLAY_HOURS: integer(0, 0, 8760).describe(
    "Hours in which a signed webhook with the same body counts as a duplicate, even with another delivery id, or on another webhook of its source with the same secret. 0 turns the check off.",
  ),
  TRIGGER_ALLOWED_BOTS: list.describe(
    "Logins of the bots and apps whose events start runs, comma-separated; `*` for all. Default: none.",
  ),
  TRIGGER_MIN_STANDING: minStanding("none").describe(
    "Minimum standing of an author in the project to start runs: `owner`, `member`, `collaborator`, `contributor` or `none`. An unknown standing is accepted.",
  ),
  WRITE_MIN_STANDING: minStanding("collaborator").describe(
    "Minimum standing of an author in the project for runs to use tools that write. An unknown standing is accepted.",
  ),
  LOOP_WINDOW_SECONDS: integer(15, 0, 3600).describe(
    "Seconds after a write by Signalbox in which an event on the same issue counts as a reply to it. 0 turns loop detection off.",
  ),
  LOOP_MAX_HOPS: integer(10, 0, 1000).describe(
    "Consecutive replies on one issue before the next one is held; at most 3 for bots and apps. 0: no limit.",
  ),
  LOOP_COOLDOWN_SECONDS: integer(600, 1, 86_400).describe("Seconds that the executions of a loop are held."),
  BUDGET_RUN_TOKENS: integer(500_000, 0, maxTokens).describe(
    "Tokens that one execution can use across all attempts. 0: no limit.",
  ),
  BUDGET_RUN_SECONDS: integer(1200, 0, 86_400).describe("Seconds that one execution can work. 0: no limit."),
  BUDGET_RUN_WRITES: integer(10, 0, 10_000).describe("Writes by tools in one execution. 0: no limit."),
  BUDGET_ISSUE_RUNS_PER_HOUR: integer(60, 0, 1_000_000).describe(
    "Executions that can start on one issue in an hour. 0: no limit.",
  ),
  BUDGET_ISSUE_TOKENS_PER_DAY: integer(5_000_000, 0, maxTokens).describe(
    "Tokens that the executions on one issue can use in a day. 0: no limit.",
  ),
  BUDGET_AUTHOR_RUNS_PER_HOUR: integer(120, 0, 1_000_000).describe(
    "Executions per hour for one author whose known standing is below collaborator. 0: no limit.",
  ),
  BUDGET_DAY_TOKENS: integer(0, 0, maxTokens).describe("Tokens that the service can use in a day. 0: no limit."),
  BUDGET_DAY_USD: amount(0).describe("US dollars that the service can spend in a day. 0: no limit."),
  BUDGET_MONTH_USD: amount(0).describe("US dollars that the service can spend in a calendar month. 0: no limit."),
  MODEL_PRICES: modelPrices
    .optional()
    .describe(
      'US dollars per million tokens by model, as JSON or the path of a JSON file: `{"gpt-4o": {"input": 2.5, "output": 10}}`. Used if the LLM proxy reports no cost.',
    ),
  UPDATE_DEBOUNCE_SECONDS: integer(2, 0, 3600).describe(
    "Seconds to wait for further changes to an issue. Only the last change then starts runs. 0: every change starts runs immediately.",
  ),
  COMMANDS_ENABLED: yesNo(true).describe(
    "Whether comments that start with `/stop`, `/retry`, `/continue`, `/approve` or `/reject` are commands.",
  ),
  TRACKER_PRESENCE: z
    .enum(["off", "reaction", "comment"])
    .optional()
    .describe(
      "How an issue shows that an agent is working. `off`: not at all; `reaction`: with a reaction; `comment`: with a living comment, one comment that the agent keeps editing. If unset, projects and agents choose. Default: `reaction`.",
    ),
  APPROVAL_TTL_DAYS: amount(7).describe(
    "Days for which a proposal can be approved; fractions are allowed. 0: proposals do not expire.",
  ),
} as const satisfies Record<string, z.ZodType>;
