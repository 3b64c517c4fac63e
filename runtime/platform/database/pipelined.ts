import type { Queryable, Sql } from "./client.ts";

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
