import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectEmbedded, type Database } from "../platform/database/client.ts";
import { openEmbedded } from "../platform/database/embedded.ts";
import { schemaText } from "../platform/database/schema-text.ts";
import { copyCluster, folderInMemory } from "../platform/database/test-folder.ts";
import { schemaSql } from "./schema-sql.ts";

describe("schema.sql", () => {
  let text: string;
  let database: Database;
  const parent = mkdtempSync(join(folderInMemory(), "signalbox-schema-test-"));
  const folder = join(parent, "data");
  beforeAll(async () => {
    text = await schemaSql("");
    await copyCluster(folder, "empty");
    database = connectEmbedded(await openEmbedded(folder));
  }, 120_000);
  afterAll(async () => {
    await database.close();
    rmSync(parent, { recursive: true, force: true });
  });

  test("names its tables, constraints and indexes", () => {
    expect(text).toMatch(/^-- Generated from migrations\//);
    expect(text).toContain("create table task_executions (\n  id uuid not null,");
    expect(text).toContain("state text default 'queued'::text not null");
    expect(text).toContain("constraint task_executions_event_id_task_id_key UNIQUE (event_id, task_id)");
    expect(text).toContain("CREATE UNIQUE INDEX task_executions_running_subject ON task_executions");
    expect(text).not.toContain("public.");
  });
  test("generating it from its own output gives the same text", async () => {
    const body = text.replace(/^--.*\n/gm, "").trimStart();
    await database.sql.unsafe(body).simple();
    expect(await schemaText(database.sql)).toBe(body);
  });
  test("sees functions, enums, views and triggers", async () => {
    await database.sql
      .unsafe(
        `create type mood as enum ('sad', 'glad'); create sequence tickets;
         create table zoo (id int generated always as identity, mood mood, twice int generated always as (1 + 1) stored);
         create view zoos as select id from zoo;
         create function poke() returns trigger language plpgsql as 'begin return new; end';
         create trigger poking before insert on zoo for each row execute function poke();`,
      )
      .simple();
    const now = await schemaText(database.sql);
    expect(now).toContain("create type mood as enum ('sad', 'glad');");
    expect(now).toContain("create sequence tickets as bigint;");
    expect(now).toContain("id integer generated always as identity not null");
    expect(now).toContain("twice integer generated always as ((1 + 1)) stored");
    expect(now).toContain("create view zoos as");
    expect(now).toContain("CREATE OR REPLACE FUNCTION poke()");
    expect(now).toContain("CREATE TRIGGER poking BEFORE INSERT ON zoo");
  });
  test("is not made again while the migrations are the same", async () => {
    expect(await schemaSql(`${text}-- kept`)).toBe(`${text}-- kept`);
  });
});
