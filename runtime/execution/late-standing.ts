import { requiredStandings } from "@signalbox/schema/policy";
import type { EventAuthor } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { Connections } from "../plugins/connections.ts";
import type { Standings } from "../plugins/standings.ts";
import { type Policies, projectKeyOf } from "../policy/policies.ts";
import { limitName } from "../policy/settings.ts";
import { releaseByOperator, standingRefusal } from "../policy/standing.ts";
import { HoldExecution } from "./budget.ts";
import type { ClaimedExecution } from "./queries.ts";
import { recordStanding, standingRules } from "./subject-queries.ts";

export interface LateStandingDeps {
  readonly sql: Sql;
  readonly standings: Pick<Standings, "find" | "of">;
  readonly policies: Pick<Policies, "of">;
  readonly connectionFor: Connections["forExecution"];
}

/**
 * Adds its author's standing to the execution if the payload does not contain it and the platform was not queried before the
 * webhook was answered. So the limits apply to a stranger's first event too. Throws `HoldExecution` if the event would have been
 * refused.
 */
export async function withLateStanding(execution: ClaimedExecution, deps: LateStandingDeps): Promise<ClaimedExecution> {
  const { origin, project, event_id } = execution;
  const author = origin?.author;
  // The gate has already checked a known standing.
  if (!author || execution.author_standing !== "unknown" || project === null || event_id === null) return execution;
  const connection = await deps.connectionFor(execution.source, execution, null);
  if (!connection?.source.adapter.standing) return execution;
  const found = await deps.standings.find(connection, project, author);
  // While the platform does not answer, an old standing still restricts its account.
  const standing = found === "unknown" ? deps.standings.of(connection, project, author) : found;
  if (standing === "unknown") return execution;
  const refusal = execution.is_released ? null : await lateRefusal(execution, { ...author, standing }, deps);
  if (refusal !== null) throw new HoldExecution({ reason: refusal, until: null, waitsFor: releaseByOperator, isQuiet: true });
  await recordStanding(deps.sql, execution, standing);
  return { ...execution, origin: { ...origin, author: { ...author, standing } } };
}

/** Why an event of this author starts nothing; `null` if it may start runs. */
async function lateRefusal(execution: ClaimedExecution, author: EventAuthor, deps: LateStandingDeps): Promise<string | null> {
  if (author.standing === "owner") return null;
  const { value, level } = deps.policies.of(execution.agent_id, projectKeyOf(execution)).trigger_min_standing;
  const rules = await standingRules(deps.sql, execution);
  // An operator's replay ignores the policy's limits on authors, as at the gate.
  const byPolicy = rules.is_replay ? null : standingRefusal(author, value, limitName("trigger_min_standing", level));
  const required = requiredStandings.find((one) => one === rules.min_standing);
  const mapping = `the mapping of ${execution.canonical_trigger} to ${execution.task_id}`;
  return byPolicy ?? (required ? standingRefusal(author, required, mapping) : null);
}
