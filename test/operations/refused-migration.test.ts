import { expect, test } from "vitest";
import { freshDatabase } from "../harness/databases.ts";
import { refusedStart } from "../harness/refused-start.ts";
import { databaseIn, databaseName, databaseWith, roleWithoutRights } from "../harness/refusing-database.ts";

const lastLine = async (url: string, wait = "300") => {
  const { code, logs } = await refusedStart({ DATABASE_URL: url, DATABASE_WAIT_SECONDS: wait });
  expect(code).toBe(1);
  expect(logs).not.toMatch(/^ +at /m);
  return logs.trim().split("\n").at(-1);
};

const settings = { tags: ["postgres" as const], timeout: 180_000 };

test("a role without rights stops the start, which says what to run", settings, async () => {
  await using database = await freshDatabase();
  await using role = await roleWithoutRights(database);
  expect(await lastLine(role.url)).toBe(
    `DATABASE_URL: the role "${role.name}" may not change the database (permission denied for schema public). Use the role that owns its tables, or, if the database is new, run as a superuser: ALTER DATABASE "${databaseName(database)}" OWNER TO "${role.name}"`,
  );
  await role.own();
  expect(await lastLine(role.url)).toBe(
    `DATABASE_URL: the role may not install pgvector (permission denied to create extension "vector"). As a superuser, run in the database "${databaseName(database)}": CREATE EXTENSION vector`,
  );
});

test("a search_path without a schema stops the start, which says what to run", settings, async () => {
  await using database = await databaseWith("search_path = nowhere");
  expect(await lastLine(database.url)).toMatch(
    /^DATABASE_URL: no schema of the search_path "nowhere" exists \(.+\)\. Create the schema, or run: ALTER ROLE ".+" SET search_path = public$/,
  );
});

test("a database that is read-only stops the start after DATABASE_WAIT_SECONDS, and says what to run", settings, async () => {
  await using database = await databaseWith("default_transaction_read_only = on");
  expect(await lastLine(database.url, "1")).toMatch(
    /^DATABASE_URL: the database is read-only \(.+\)\. If its disk is not full, run: ALTER ROLE ".+" RESET default_transaction_read_only; ALTER DATABASE ".+" RESET default_transaction_read_only$/,
  );
});

test.each(["LATIN1", "SQL_ASCII"])("a database in %s stops the start before it changes anything", settings, async (encoding) => {
  await using database = await databaseIn(encoding);
  expect(await lastLine(database.url)).toBe(
    `DATABASE_URL: the encoding of the database must be UTF8; it is ${encoding}. Use another database, for example: CREATE DATABASE "${databaseName(database)}_utf8" ENCODING 'UTF8' TEMPLATE template0`,
  );
});
