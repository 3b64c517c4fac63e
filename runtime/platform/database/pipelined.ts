import type { Queryable, Sql } from "./client.ts";

/**
 * Statements in one transaction, sent together with its begin and its commit: one wait for the network, where `sql.begin`
 * waits three times. So none can depend on another's answer. Gives the rows of each; throws what failed first.
 */
export async function pipelined<Row extends object>(
  sql: Sql,
  statements: (tx: Queryable) => readonly PromiseLike<readonly unknown[]>[],
  /** What is sent before them with the begin, for example settings of the transaction. */
  first = "",
): Promise<Row[][]> {
  const tx = await sql.reserve();
  try {
    // Sent in this order as they are awaited, without a pause in between. After a failure the commit is a rollback.
    const results = await Promise.allSettled([tx.unsafe(`begin; ${first}`), ...statements(tx), tx.unsafe("commit")]);
    const failed = results.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    return results.slice(1, -1).map((one) => [...(one as PromiseFulfilledResult<Row[]>).value]);
  } finally {
    tx.release();
  }
}
