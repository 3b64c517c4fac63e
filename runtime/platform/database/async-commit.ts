import type { Queryable } from "./client.ts";

/**
 * An always-true condition. A statement that writes a row under it does not wait until its commit is on disk. It is for rows that
 * are soon written again, such as renewed leases. Do not use it in a transaction with other writes. Without
 * fsync (the embedded database) no commit waits, and this one would stay in the memory of the process.
 */
export const asyncCommit = (sql: Queryable) =>
  sql`(current_setting('fsync') = 'off' or set_config('synchronous_commit', 'off', true) is not null)`;
