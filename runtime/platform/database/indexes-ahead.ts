import type { Log } from "../log.ts";
import type { Sql } from "./client.ts";

/*
 * A migration builds its indexes within its transaction. On a large table, that would keep the requests of the replicas that still
 * serve waiting for seconds. So the indexes are built before it, concurrently and under another name, and the migration only renames them.
 */

/** A table below this size has its indexes built within the migration. Bytes. */
const large = 8_000_000;

const statement = /^create (unique )?index (\w+) on (\w+)\b([^;]*);$/gm;

/** The text of a migration, with the index builds that could be done ahead replaced by their names. */
export async function buildIndexesAhead(sql: Pick<Sql, "unsafe">, text: string, log: Log): Promise<string> {
  let shorter = text;
  for (const [whole, unique = "", name = "", table = "", rest = ""] of text.matchAll(statement))
    if (await isLarge(sql, table)) {
      const ahead = `${name}_ahead`;
      // The remains of a start that was interrupted.
      await sql.unsafe(`drop index concurrently if exists ${ahead}`);
      try {
        log.info("an index is built ahead of its migration", { table, index: name });
        await sql.unsafe(`create ${unique}index concurrently ${ahead} on ${table}${rest}`);
        shorter = shorter.replace(whole, () => `alter index ${ahead} rename to ${name};`);
      } catch (error) {
        // A column may come with the migration itself. Other reasons stop the migration, which has the better message.
        log.info("an index cannot be built ahead of its migration", { table, index: name, error: String(error) });
        await sql.unsafe(`drop index concurrently if exists ${ahead}`);
      }
    }
  return shorter;
}

async function isLarge(sql: Pick<Sql, "unsafe">, table: string): Promise<boolean> {
  const [row] = await sql.unsafe(`select pg_relation_size(to_regclass('${table}')) > ${large} as is_large`);
  return row?.is_large === true;
}
