import { type Queryable, type Sql, sqlState } from "./driver.ts";
import { type Run, sqlOver } from "./statement.ts";

/** An exclusive connection. */
export interface ExclusiveConnection {
  readonly run: Run;
  readonly release: () => void;
}

/** The same connection, which refuses statements after its release. */
export function untilReleased({ run, release }: ExclusiveConnection): ExclusiveConnection {
  let isReleased = false;
  return {
    run: (build) => (isReleased ? Promise.reject(new Error("a statement was sent after its transaction had ended")) : run(build)),
    release: () => {
      isReleased = true;
      release();
    },
  };
}

/** SQLSTATE of every statement after a failed one. */
const transactionAbortedCode = "25P02";

/** Runs `work` in a transaction, which is rolled back if the work or any of its statements fails. */
export async function inTransaction<T>({ run, release }: ExclusiveConnection, work: (tx: Sql) => Promise<T>): Promise<T> {
  const control = (command: string) => run((driver) => driver.unsafe(command));
  let failure: { error: unknown } | undefined;
  const runNoted: Run = (build) => {
    const result = run(build);
    result.catch((error) => {
      failure ??= { error };
    });
    return result;
  };
  try {
    await control("begin");
    try {
      const result = await work(sqlOver(runNoted));
      // A failed statement has aborted the transaction, even if its error was caught.
      if (failure) throw failure.error;
      await control("commit");
      return result;
    } catch (error) {
      await control("rollback").catch(() => {});
      throw failure && sqlState(error) === transactionAbortedCode ? failure.error : error;
    }
  } finally {
    release();
  }
}

/**
 * Sends statements together with the begin and commit of their transaction, in one round trip; `sql.begin` needs three. So
 * no statement can depend on the result of another. Returns the rows of each statement, and throws the first error.
 */
export async function pipelined<Row extends object>(
  sql: Sql,
  statements: (tx: Queryable) => readonly PromiseLike<readonly unknown[]>[],
  /** Statements that are sent together with the begin, for example settings of the transaction. */
  first = "",
): Promise<Row[][]> {
  const tx = await sql.reserve();
  try {
    // The statements are sent in this order without waiting. After a failure, the commit rolls back.
    const results = await Promise.allSettled([tx.unsafe(`begin; ${first}`), ...statements(tx), tx.unsafe("commit")]);
    const failed = results.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    return results.slice(1, -1).map((one) => [...(one as PromiseFulfilledResult<Row[]>).value]);
  } finally {
    tx.release();
  }
}
