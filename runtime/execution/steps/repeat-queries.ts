import type { Queryable, Sql } from "../../platform/database/client.ts";
import { writeChanges } from "./queries.ts";
import type { Change, StepRow } from "./rows.ts";

/**
 * Writes changes again after a write to which the database did not respond. Changes that are already stored are not written
 * again, so nothing is counted twice. Returns the executions whose change is stored.
 */
export const repeatChanges = (sql: Sql, changes: readonly Change[]): Promise<boolean[]> =>
  sql.begin(async (tx) => {
    const ids = changes.map(({ id }) => id);
    // The earlier statement may still be running, so this one waits for its locks.
    const leased = await tx<{ id: string; lease: string | null; state: string }[]>`
      select id, lease, state from task_executions where id = any(${ids}::uuid[]) order by id for update`;
    const storedIds = await storedSteps(tx, changes);
    const isLeased = ({ id, lease }: Change) =>
      leased.some((one) => one.id === id && one.lease === lease && one.state === "running");
    // A change that ends the attempt also ends its lease. It may change steps that already have the same outcome.
    const isStored = (change: Change) => {
      if (change.patch.state !== undefined && isLeased(change)) return false;
      const steps = recognisedBy(change);
      return steps.length > 0 && steps.every(({ id }) => storedIds.has(id));
    };
    const open = changes.filter((change) => !isStored(change));
    const written = new Set(
      open.length > 0 ? (await writeChanges(tx, open)).flatMap((ok, i) => (ok ? (open[i] ?? []) : [])) : [],
    );
    return changes.map(
      (change) => written.has(change) || (isStored(change) && (change.patch.state !== undefined || isLeased(change))),
    );
  }) as Promise<boolean[]>;

/**
 * The steps that show whether a change is stored: its new steps, or if it has none, those that it completes. A change is stored
 * completely or not at all.
 */
const recognisedBy = ({ steps, completed }: Change): readonly StepRow[] =>
  steps.length > 0 ? steps : completed.filter(({ state }) => state !== "started");

/** Ids of the steps that are stored with the content of the changes. */
async function storedSteps(tx: Queryable, changes: readonly Change[]): Promise<Set<string>> {
  const wanted = changes.flatMap((change) =>
    recognisedBy(change).map(({ id, state, ended_at }) => ({ id, state, ended_at, is_new: change.steps.length > 0 })),
  );
  if (wanted.length === 0) return new Set();
  const rows = await tx<{ id: string }[]>`
    select t.id from execution_steps t
    join json_to_recordset(${JSON.stringify(wanted)}::text::json) as w (id uuid, state text, ended_at timestamptz, is_new boolean) on w.id = t.id
    where t.id = any(${wanted.map(({ id }) => id)}::uuid[]) and (w.is_new or (t.state = w.state and t.ended_at is not distinct from w.ended_at))`;
  return new Set(rows.map(({ id }) => id));
}
