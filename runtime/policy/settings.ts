import type { Policy, PolicyLevel, PolicyMember } from "@signalbox/schema/policy";
import type { Config, Variable } from "../platform/config.ts";

/** The variables that set members of the policy for the whole service. */
const policyVariables = {
  trigger_allowed_bots: "TRIGGER_ALLOWED_BOTS",
  trigger_min_standing: "TRIGGER_MIN_STANDING",
  write_min_standing: "WRITE_MIN_STANDING",
  loop_max_hops: "LOOP_MAX_HOPS",
  run_tokens: "BUDGET_RUN_TOKENS",
  run_seconds: "BUDGET_RUN_SECONDS",
  run_writes: "BUDGET_RUN_WRITES",
  issue_runs_per_hour: "BUDGET_ISSUE_RUNS_PER_HOUR",
  issue_tokens_per_day: "BUDGET_ISSUE_TOKENS_PER_DAY",
  author_runs_per_hour: "BUDGET_AUTHOR_RUNS_PER_HOUR",
  day_tokens: "BUDGET_DAY_TOKENS",
  day_usd: "BUDGET_DAY_USD",
  month_usd: "BUDGET_MONTH_USD",
  presence: "TRACKER_PRESENCE",
} as const satisfies Partial<Record<PolicyMember, Variable>>;

/** The top level of the policy. */
export const settingsPolicy = (config: Config): Policy =>
  Object.fromEntries(
    Object.entries(policyVariables)
      .map(([member, variable]) => [member, config[variable]] as const)
      .filter(([, value]) => value !== undefined),
  );

/** The place where a limit is set, in the words of a reason: `LOOP_MAX_HOPS in the settings`, `loop_max_hops of the project`. */
export function limitName(member: PolicyMember, level: PolicyLevel): string {
  if (level !== "settings") return `${member} in the policy of the ${level}`;
  const variable = (policyVariables as Partial<Record<PolicyMember, string>>)[member];
  return variable ? `${variable} in the settings` : `${member} by default`;
}
