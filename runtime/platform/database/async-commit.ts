import type { Queryable } from "./client.ts";

/**
 * An always-true condition. A statement that writes a row under it does not wait until its commit is on disk. Use it for rows
 * that are soon written again, such as renewed leases, but not in a transaction with other writes. Without
 * fsync (the embedded database), it has no effect: no commit waits there, and this one could be lost when the process is killed.
 */
export const asyncCommit = (sql: Queryable) =>
  sql`(current_setting('fsync') = 'off' or set_config('synchronous_commit', 'off', true) is not null)`;
