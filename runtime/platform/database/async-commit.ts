import type { Queryable } from "./client.ts";

/**
 * A condition that always holds. A statement that writes a row on it does not wait until its commit is on the disk: for what
 * is written again in a moment anyway, such as a lease that is renewed. Not in a transaction with more than that. Without
 * fsync (the embedded database) no commit waits, and this one would stay in the memory of the process.
 */
export const asyncCommit = (sql: Queryable) =>
  sql`(current_setting('fsync') = 'off' or set_config('synchronous_commit', 'off', true) is not null)`;
