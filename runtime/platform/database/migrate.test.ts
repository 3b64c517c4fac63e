import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { quiet } from "../../transports/http/testing/door.ts";
import { connectEmbedded, type Database } from "./client.ts";
import { openEmbedded } from "./embedded.ts";
import { migrate } from "./migrate.ts";
import { copyCluster } from "./test-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-migrations-"));
let database: Database;
beforeAll(async () => {
  await copyCluster(join(folder, "data"), "empty");
  database = connectEmbedded(await openEmbedded(join(folder, "data")));
}, 60_000);
afterAll(async () => {
  await database?.close();
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string, text: string) => writeFileSync(join(folder, name), text);

test("an edited migration prevents the start; a missing digest is added", async () => {
  file("0001_one.sql", "create table one (id int);");
  expect(await migrate(database, quiet, folder)).toBe(1);
  file("0002_two.sql", "create table two (id int);");
  expect(await migrate(database, quiet, folder)).toBe(1);
  await database.sql`update migrations set digest = null where id = 1`;
  expect(await migrate(database, quiet, folder)).toBe(0);
  expect((await database.sql`select 1 from migrations where digest is null`).length).toBe(0);
  file("0001_one.sql", "create table one (id bigint);");
  await expect(migrate(database, quiet, folder)).rejects.toThrow(/another text of 0001_one /);
  file("0003_three.sql", "create table three (id int);");
  await expect(migrate(database, quiet, folder)).rejects.toThrow(/another text/);
  expect((await database.sql`select 1 from migrations`).length).toBe(2);
});
