import { databaseInstant } from "../platform/clock.ts";
import type { Queryable } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { storable } from "../platform/json.ts";
import { appendToLog } from "./log-queries.ts";

/** A decision on proposals that was not made through an operation. */
interface RecordedDecision {
  /** `alpha:ann` for the author of a comment, `signalbox` for the service. */
  readonly actor: string;
  readonly operation: string;
  readonly executionId: string;
  readonly reason: string;
  readonly subject?: string;
}

/** Appends a decision to the audit log, in the transaction that makes it. */
export async function recordDecision(tx: Queryable, decision: RecordedDecision): Promise<void> {
  const { actor, operation, executionId, reason, subject } = decision;
  const after = { ...(subject !== undefined && { subject }), ...(reason !== "" && { reason }) };
  const change = { actor, operation, object: `task-executions/${executionId}`, before: null, after };
  await appendToLog(tx, [JSON.stringify(storable({ at: databaseInstant(), ...change, request_id: newId() }))]);
}
