import { afterAll, beforeAll, expect, test } from "vitest";
import { connectPostgres, type Database } from "../database/client.ts";
import { migrate } from "../database/migrate.ts";
import { newId } from "../ids.ts";
import { claimExecutions, releaseExpired, renewLeases } from "./queries.ts";
import { writeChanges } from "./transcript/queries.ts";

/** On a real server: on the embedded database nothing happens at the same time. */
const server = process.env.TEST_DATABASE_URL;
if (!server && process.env.REQUIRE_SERVICES === "1") throw new Error("REQUIRE_SERVICES=1, but TEST_DATABASE_URL is not set");
const log = { info() {}, warn() {}, error() {}, with: () => log };
let database: Database;
let drop = async () => {};

beforeAll(async () => {
  if (!server) return;
  const name = `test_leases_${process.pid}`;
  const admin = connectPostgres(server, { max: 1 });
  await admin.sql.unsafe(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  database = connectPostgres(url.href, { max: 10 });
  await migrate(database, log);
  drop = async () => {
    await database.close();
    await admin.sql.unsafe(`drop database ${name} with (force)`);
    await admin.close();
  };
}, 60_000);
afterAll(() => drop());

test.runIf(server)("steps are written while leases are renewed and released, and nobody waits in a ring", async () => {
  const { sql } = database;
  const rows = Array.from({ length: 200 }, (_, n) => ({
    ...{ id: newId(), task_id: "t", canonical_trigger: "x", source: "alpha", slug: "alpha" },
    ...{ subject: `alpha:a/b#${n}`, project: "a/b", issue: String(n), content: "" },
  }));
  await sql`insert into task_executions ${sql(rows)}`;
  const held = await claimExecutions(sql, "w", 200, 60);
  expect(held).toHaveLength(200);
  const shuffled = () => held.map((one) => ({ one, at: Math.random() })).sort((a, b) => a.at - b.at);
  const change = ({ one: { id, lease } }: ReturnType<typeof shuffled>[number]) => ({
    ...{ id, lease, steps: [], settled: [], patch: { tool_calls: 1 } },
  });
  const work = [
    () => writeChanges(sql, shuffled().slice(0, 64).map(change)),
    () => writeChanges(sql, shuffled().slice(0, 64).map(change)),
    () =>
      renewLeases(
        sql,
        shuffled().map(({ one }) => one),
        60,
      ),
    () => releaseExpired(sql, false),
  ];
  await Promise.all(
    work.map(async (one) => {
      for (let round = 0; round < 60; round++) await one();
    }),
  );
  expect(await renewLeases(sql, held, 60)).toEqual(new Set(held.map(({ id }) => id)));
});
