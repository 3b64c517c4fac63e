import { afterAll, beforeAll, expect, test } from "vitest";
import { type Door, openDoor } from "../../transports/http/testing/door.ts";
import { pipelined } from "./transaction.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
  await door.sql`create table trips (n int primary key)`;
});
afterAll(() => door?.close());
const stored = async () => (await door.sql<{ n: number }[]>`select n from trips order by n`).map(({ n }) => n);

test("pipelined statements give the rows of each, in one transaction whose settings end with it", async () => {
  const before = await door.sql`show statement_timeout`;
  const rows = await pipelined<Record<string, unknown>>(
    door.sql,
    (tx) => [
      tx`insert into trips values (${1}), (${2}) returning n`,
      tx`select count(*)::int as many, current_setting('statement_timeout') as how from trips`,
    ],
    "select set_config('statement_timeout', '4321', true)",
  );
  expect(rows).toEqual([[{ n: 1 }, { n: 2 }], [{ many: 2, how: "4321ms" }]]);
  expect(await door.sql`show statement_timeout`).toEqual(before);
});

test("a statement that fails undoes the others, and is what is thrown", async () => {
  const failing = pipelined(door.sql, (tx) => [
    tx`insert into trips values (${3})`,
    tx`insert into trips values (${1})`,
    tx`select 1 as one`,
  ]);
  await expect(failing).rejects.toMatchObject({ code: "23505" });
  expect(await stored()).toEqual([1, 2]);
});
