import postgres from "postgres";
import { releaseExecution } from "./database-faults.ts";
import type { FreshDatabase } from "./databases.ts";
import { eventually } from "./wait.ts";

/**
 * Releases an event's execution, closes all breakers, and runs `meanwhile` while the claim for it is blocked in the database. Of
 * the queue's statements, only a claim that takes an execution reads `agents`, so no other one is blocked instead.
 */
export const duringClaim = (database: FreshDatabase, event: string, meanwhile: () => Promise<void>): Promise<void> =>
  inTransaction(database, async (tx) => {
    await tx`lock table agents in access exclusive mode`;
    // Only after the lock, because executions that wait for a breaker can be claimed once it is closed.
    await database.query("delete from breakers");
    await releaseExecution(database, event);
    await untilBlocked(database, 1, "and query like '%claim_executions%'");
    await meanwhile();
  });

/** Runs `work` on a connection of its own. */
async function inTransaction<T>(database: FreshDatabase, work: (tx: postgres.TransactionSql) => Promise<T>): Promise<T> {
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  try {
    return (await sql.begin(work)) as T;
  } finally {
    await sql.end();
  }
}

/** Waits until so many statements wait for a lock. `which`: a further condition. */
async function untilBlocked(database: FreshDatabase, count: number, which = ""): Promise<void> {
  const blocked = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' ${which}`;
  await eventually(async () => (await database.query(blocked)).length >= count);
}

/**
 * Deletes a project in a transaction, and starts `meanwhile`. The transaction is committed only when `count` statements of the
 * service wait for it. Returns the result of `meanwhile`.
 */
export async function deleteProjectDuring<T>(
  database: FreshDatabase,
  project: number,
  count: number,
  meanwhile: () => Promise<T>,
): Promise<T> {
  const { result } = await inTransaction(database, async (tx) => {
    await tx`delete from projects where id = ${project}`;
    const result = meanwhile();
    result.catch(() => {});
    await untilBlocked(database, count);
    return { result };
  });
  return result;
}

/** Locks the memories, starts `call`, and runs `meanwhile` once the call waits for them. Returns the call, which then continues. */
export const duringMemoryCall = <T>(
  database: FreshDatabase,
  call: () => Promise<T>,
  meanwhile: () => Promise<void>,
): Promise<{ readonly answer: Promise<T> }> =>
  inTransaction(database, async (tx) => {
    await tx`lock table memories in access exclusive mode`;
    const answer = call();
    answer.catch(() => {});
    await untilBlocked(database, 1);
    await meanwhile();
    return { answer };
  });
