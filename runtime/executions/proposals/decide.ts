import { problem } from "@signalbox/schema/problem";
import { recordDecision } from "../../audit/record-decision.ts";
import type { Bus } from "../../platform/bus.ts";
import type { Queryable, Sql } from "../../platform/database/client.ts";
import { approveLocked, type Decision, endLocked, lockOpen, type OpenProposals, waitingOn } from "./queries.ts";

/** Approves or rejects the proposals of an execution. Returns `false` if the execution does not exist. */
export async function decide(sql: Sql, bus: Bus, executionId: string, decision: Decision): Promise<boolean> {
  const exists = await sql.begin((tx) => decideLocked(tx, executionId, decision));
  if (exists) await publishDecision(bus, executionId, decision);
  return exists;
}

/** Called after a decision: an approved execution is queued; the sign of a rejected one must be removed. */
const publishDecision = (bus: Bus, executionId: string, { verdict }: Pick<Decision, "verdict">) =>
  verdict === "approve" ? bus.publish("queue") : bus.publish("cancel", executionId);

async function decideLocked(tx: Queryable, executionId: string, decision: Decision): Promise<boolean> {
  const openProposals = await lockOpen(tx, executionId);
  if (!openProposals) return false;
  if (openProposals.state !== "waiting")
    throw problem(
      "wrong_state",
      `The execution has the state ${openProposals.state}; only an execution that waits for approval can be approved or rejected.`,
    );
  if (decision.verdict === "approve") {
    await approveLocked(tx, executionId, approvable(openProposals, decision), decision.by);
  } else {
    const suffix = decision.reason === "" ? "" : `: ${decision.reason}`;
    await endLocked(tx, executionId, { state: "rejected", by: decision.by, error: `Rejected by ${decision.by}${suffix}` });
  }
  return true;
}

/** The ids to approve. Throws unless all of these proposals wait for a decision. */
function approvable({ open }: OpenProposals, { proposals }: Decision): string[] {
  const openIds = open.filter(({ expired }) => !expired).map(({ id }) => id);
  const expiredIds = open.filter((one) => one.expired).map(({ id }) => id);
  const chosenIds = proposals ?? openIds;
  const lateIds = (proposals ?? expiredIds).filter((id) => expiredIds.includes(id));
  if (lateIds.length > 0 && (proposals || openIds.length === 0))
    throw problem("wrong_state", `It is too late to approve the proposals ${lateIds.join(", ")}: they have expired.`);
  const unknownIds = chosenIds.filter((id) => !openIds.includes(id));
  if (unknownIds.length > 0)
    throw problem(
      "wrong_state",
      `The execution has no open proposal ${unknownIds.join(", ")}; it has ${openIds.length} open proposals.`,
    );
  return [...new Set(chosenIds)];
}

/** A decision made by a comment on the issue. */
interface DecisionAtIssue extends Pick<Decision, "verdict" | "by" | "reason"> {
  /** The names of the issue, as they are stored: `alpha:octo/app#12`. */
  readonly subjects: readonly string[];
  readonly reach: string | null;
  /** Only executions all of whose proposals were made until then. */
  readonly before: string | null;
}

/**
 * Decides on all proposals that wait for approval on an issue. Returns the ids of their executions. Publish `queue` after the
 * commit.
 */
export async function decideAtIssue(tx: Queryable, { subjects, reach, before, ...decision }: DecisionAtIssue): Promise<string[]> {
  const executionIds: string[] = [];
  const [subject = ""] = subjects;
  for (const { id } of await waitingOn(tx, { subjects, reach, before })) {
    const execution = await lockOpen(tx, id);
    // It was decided meanwhile, or it has expired.
    if (execution?.state !== "waiting" || execution.open.every(({ expired }) => expired)) continue;
    await decideLocked(tx, id, { ...decision, proposals: null });
    const { verdict, by } = decision;
    // Without the reason: it is a text of the issue, which an erasure could not remove from the audit log. The proposals have it.
    await recordDecision(tx, { actor: by, operation: `task-executions.${verdict}`, executionId: id, reason: "", subject });
    executionIds.push(id);
  }
  return executionIds;
}
