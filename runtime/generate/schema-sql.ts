import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectEmbedded } from "../platform/database/client.ts";
import { openEmbedded } from "../platform/database/embedded.ts";
import { migrate } from "../platform/database/migrate.ts";
import { schemaText } from "../platform/database/schema-text.ts";
import type { Log } from "../platform/log.ts";

const noLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => noLog };

/**
 * The text of `schema.sql`: the result of all migrations, so a review sees the effect of each. The database takes seconds to
 * start, so `previous` is returned if it was generated from the same migrations, unless `afresh`.
 */
export async function schemaSql(previous: string, afresh = false): Promise<string> {
  const head = `-- Generated from migrations/ by \`npm run generate\`. Do not edit.\n-- Made from ${fingerprint()}\n\n`;
  if (!afresh && previous.startsWith(head)) return previous;
  const folder = mkdtempSync(join(tmpdir(), "signalbox-schema-"));
  const database = connectEmbedded(await openEmbedded(folder));
  try {
    await migrate(database, noLog);
    return head + (await schemaText(database.sql));
  } finally {
    await database.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Digest of the migrations and of the printer. */
function fingerprint(): string {
  const folder = fileURLToPath(new URL("../../migrations/", import.meta.url));
  const printer = fileURLToPath(new URL("../platform/database/schema-text.ts", import.meta.url));
  const hash = createHash("sha256");
  for (const file of [
    ...readdirSync(folder)
      .sort()
      .map((name) => folder + name),
    printer,
  ]) {
    if (existsSync(file) && /\.(sql|ts)$/.test(file)) hash.update(readFileSync(file)).update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}
