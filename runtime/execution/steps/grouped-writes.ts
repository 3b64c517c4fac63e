import { batch } from "../../platform/database/batch.ts";
import type { Sql } from "../../platform/database/client.ts";
import { writeChanges } from "./queries.ts";
import { repeatChanges } from "./repeat-queries.ts";
import type { Change } from "./rows.ts";

/**
 * Maximum number of changes in one write. While a write runs, another one begins only if this many changes wait, because fewer and
 * larger writes cost less.
 */
const maxChanges = 64;

/** Writes changes of many executions together. Each call resolves to `false` if the lease of its execution is lost. */
export function groupedWrites({ sql, onlyProcess }: { readonly sql: Sql; readonly onlyProcess: boolean }) {
  const options = { maxItems: maxChanges, beside: maxChanges, concurrency: onlyProcess ? 1 : 4 };
  return {
    write: batch((changes: Change[]) => writeChanges(sql, changes), options),
    /** For changes whose earlier write got no answer. */
    writeAgain: batch((changes: Change[]) => repeatChanges(sql, changes), options),
  };
}
