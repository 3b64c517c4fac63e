import { type Config, StartError } from "../config.ts";
import type { Log } from "../log.ts";
import { connectEmbedded, connectPostgres, type Database } from "./client.ts";
import { openEmbedded } from "./embedded.ts";

/** The PostgreSQL that `DATABASE_URL` names, else the embedded one in `DATA_DIR`. */
export async function openDatabase(config: Pick<Config, "DATABASE_URL" | "DATA_DIR">, log: Log): Promise<Database> {
  if (config.DATABASE_URL) {
    const database = connectPostgres(config.DATABASE_URL, { max: 20 });
    try {
      await database.sql`select 1`;
    } catch (error) {
      await database.close();
      throw new StartError(`DATABASE_URL: the database does not answer: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    }
    return database;
  }
  log.info("embedded database: survives a crash of this process, not a power cut; set DATABASE_URL for production", {
    folder: config.DATA_DIR,
  });
  return connectEmbedded(await openEmbedded(config.DATA_DIR));
}
