import type { EffectivePolicy, PolicyLevel, PolicyMember } from "@signalbox/schema/policy";
import { authorVerdicts, hopLimit } from "../policy/author-rules.ts";
import { projectKeyOf } from "../policy/policies.ts";
import { releaseByOperator } from "../policy/standing.ts";
import { HoldExecution } from "./budget.ts";
import { type LateBudgets, lateBudgets, readLimitedUse } from "./late-limit-queries.ts";
import type { ClaimedExecution } from "./queries.ts";
import type { RunDeps } from "./run-context.ts";

/** What is known only when an execution begins. */
interface KnownLate {
  /** The levels of the policy that neither the gate nor the claim knew. */
  readonly levels: ReadonlySet<PolicyLevel>;
  /** Whether its webhook gave another name to its issue. */
  readonly isRenamed: boolean;
}

const author = { bots: "trigger_allowed_bots", min_standing: "trigger_min_standing" } as const;

/**
 * Applies the limits on who and what starts runs that are known only when an execution begins: those of an agent that was chosen by
 * capability, and those of a project that its webhook did not name. Throws `HoldExecution` if one of them would have refused or held
 * the execution.
 */
export async function requireLateLimits(
  { levels, isRenamed }: KnownLate,
  execution: ClaimedExecution,
  agentId: string | null,
  { sql, policies, loops }: Pick<RunDeps, "sql" | "policies" | "loops">,
): Promise<void> {
  const policy = policies.of(agentId, projectKeyOf(execution));
  // The claim compared the usage that was counted under the former name.
  const isLate = (member: PolicyMember) => levels.has(policy[member].level) || (isRenamed && member.startsWith("issue_"));
  const members: readonly PolicyMember[] = [...Object.values(author), "loop_max_hops", ...lateBudgets];
  if (execution.is_released || !members.some(isLate)) return;
  const by = execution.origin?.author ?? null;
  const use = await readLimitedUse(sql, execution, execution.subject, budgetsOf(policy, isLate), loops.cooldownSeconds);
  if (!use.is_replay) {
    const refusal = authorVerdicts(by, null, policy).find(({ check, passes }) => !passes && isLate(author[check]));
    if (refusal) throw new HoldExecution({ reason: refusal.reason, until: null, waitsFor: releaseByOperator, isQuiet: true });
    const { max, reason } = hopLimit(policy, by?.kind ?? "unknown", loops.windowSeconds);
    if (max > 0 && use.hops > max && use.loop_until !== null && isLate("loop_max_hops")) {
      const text = reason.replace("{hops}", String(use.hops));
      throw new HoldExecution({ reason: text, until: use.loop_until, waitsFor: text, isQuiet: true });
    }
  }
  const [exceeded] = use.exceeded;
  if (exceeded) throw new HoldExecution({ ...exceeded, waitsFor: `the budget ${exceeded.member}` });
}

const budgetsOf = (policy: EffectivePolicy, isLate: (member: PolicyMember) => boolean): LateBudgets =>
  Object.fromEntries(lateBudgets.filter(isLate).map((member) => [member, policy[member]]));
