import type { Log } from "../log.ts";
import type { Sql } from "./client.ts";

/*
 * A migration builds its indexes within its transaction. On a large table, that would delay the requests of the replicas that are
 * still running for seconds. So the indexes are built concurrently before the migration, under another name, and the migration
 * only renames them.
 */

/** For a table below this size, in bytes, the migration builds the indexes itself. */
const large = 8_000_000;

const statement = /^create (unique )?index (\w+) on (\w+)\b([^;]*);$/gm;

/** Builds the indexes of a migration on large tables ahead. Returns the text of the migration with renames in their place. */
export async function buildIndexesAhead(sql: Pick<Sql, "unsafe">, text: string, log: Log): Promise<string> {
  let shorter = text;
  for (const [whole, unique = "", name = "", table = "", rest = ""] of text.matchAll(statement))
    if (await isLarge(sql, table)) {
      const aheadName = `${name}_ahead`;
      // Removes an index that an interrupted start left.
      await sql.unsafe(`drop index concurrently if exists ${aheadName}`);
      try {
        log.info("an index is built ahead of its migration", { table, index: name });
        await sql.unsafe(`create ${unique}index concurrently ${aheadName} on ${table}${rest}`);
        shorter = shorter.replace(whole, () => `alter index ${aheadName} rename to ${name};`);
      } catch (error) {
        // The migration itself may create the column. Any other error will occur in the migration again, with a better message.
        log.info("an index cannot be built ahead of its migration", { table, index: name, error: String(error) });
        await sql.unsafe(`drop index concurrently if exists ${aheadName}`);
      }
    }
  return shorter;
}

async function isLarge(sql: Pick<Sql, "unsafe">, table: string): Promise<boolean> {
  const [row] = await sql.unsafe(`select pg_relation_size(to_regclass('${table}')) > ${large} as is_large`);
  return row?.is_large === true;
}
