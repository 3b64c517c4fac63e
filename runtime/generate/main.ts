import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { declaredOperations } from "../declared-operations.ts";
import { version } from "../platform/version.ts";
import { documentOf } from "../transports/http/openapi.ts";
import { clientTypes } from "./client-types.ts";
import { configurationPage } from "./configuration.ts";
import { generateProto } from "./proto.ts";
import { schemaSql } from "./schema-sql.ts";

/**
 * Writes all generated files from the operations, the configuration and the migrations: `npm run generate`. With
 * `--afresh`, regenerates files that are up to date as well.
 */
const folder = fileURLToPath(new URL("../../schema/gen/", import.meta.url));

const operations = declaredOperations();
const document = documentOf(
  operations.filter(({ op }) => op.http !== null),
  version,
);
write("openapi.json", `${JSON.stringify(document, null, 2)}\n`);
write("client.ts", clientTypes(document));

const { files, fieldNumbers } = generateProto(operations.map(({ op }) => op));
for (const old of readdirSync(folder)) if (old.endsWith(".proto") && !(old in files)) rmSync(`${folder}${old}`);
for (const [name, text] of Object.entries(files)) write(name, text);
writeFileSync(fileURLToPath(new URL("../../schema/field-numbers.json", import.meta.url)), fieldNumbers);
write("configuration.md", configurationPage());
const known = existsSync(`${folder}schema.sql`) ? readFileSync(`${folder}schema.sql`, "utf8") : "";
write("schema.sql", await schemaSql(known, process.argv.includes("--afresh")));

function write(name: string, text: string): void {
  writeFileSync(`${folder}${name}`, text);
}
