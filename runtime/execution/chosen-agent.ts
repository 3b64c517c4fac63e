import type { EffectivePolicy, PolicyMember } from "@signalbox/schema/policy";
import { authorVerdicts, hopLimit } from "../policy/author-rules.ts";
import { projectKeyOf } from "../policy/policies.ts";
import { releaseByOperator } from "../policy/standing.ts";
import { HoldExecution } from "./budget.ts";
import { type AgentBudgets, readLimitedUse } from "./chosen-agent-queries.ts";
import type { ClaimedExecution } from "./queries.ts";
import type { RunDeps } from "./run-context.ts";

/** Members that are checked before an execution begins: the gate and the claim check those of an agent that they know. */
const author = { bots: "trigger_allowed_bots", min_standing: "trigger_min_standing" } as const;
const budgets = ["issue_runs_per_hour", "issue_tokens_per_day", "author_runs_per_hour"] as const;
const members: readonly PolicyMember[] = [...Object.values(author), "loop_max_hops", ...budgets];

/**
 * Applies the limits of an agent that was chosen by capability, which is known only when its execution begins. Throws
 * `HoldExecution` if one of them would have refused or held the execution.
 */
export async function requireLimitsOf(
  agentId: string,
  execution: ClaimedExecution,
  { sql, policies, loops }: Pick<RunDeps, "sql" | "policies" | "loops">,
): Promise<void> {
  const policy = policies.of(agentId, projectKeyOf(execution));
  const isSetByAgent = (member: PolicyMember) => policy[member].level === "agent";
  if (execution.is_released || !members.some(isSetByAgent)) return;
  const by = execution.origin?.author ?? null;
  const use = await readLimitedUse(sql, execution, budgetsOf(policy));
  if (!use.is_replay) {
    const refusal = authorVerdicts(by, null, policy).find(({ check, passes }) => !passes && isSetByAgent(author[check]));
    if (refusal) throw new HoldExecution({ reason: refusal.reason, until: null, waitsFor: releaseByOperator, isQuiet: true });
    const { max, reason } = hopLimit(policy, by?.kind ?? "unknown", loops.windowSeconds);
    if (max > 0 && use.hops > max) {
      const until = new Date(Date.now() + loops.cooldownSeconds * 1000).toISOString();
      const text = reason.replace("{hops}", String(use.hops));
      throw new HoldExecution({ reason: text, until, waitsFor: text, isQuiet: true });
    }
  }
  const [exceeded] = use.exceeded;
  if (exceeded) throw new HoldExecution({ ...exceeded, waitsFor: `the budget ${exceeded.member}` });
}

const budgetsOf = (policy: EffectivePolicy): AgentBudgets =>
  Object.fromEntries(budgets.filter((one) => policy[one].level === "agent").map((one) => [one, policy[one].value]));
