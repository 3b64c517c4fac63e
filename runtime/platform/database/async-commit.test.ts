import { afterAll, beforeAll, expect, test } from "vitest";
import { type Door, openDoor } from "../../transports/http/testing/door.ts";
import { asyncCommit } from "./async-commit.ts";
import type { Database } from "./client.ts";
import { type TestDatabase, testDatabase, testServer } from "./test-database.ts";

/** What the commit of a statement under the condition waits for, and what later commits wait for. */
async function commitsOf({ sql }: Database): Promise<{ rows: number; during: string; after: string }> {
  await sql`create table if not exists lazy (n int, during text)`;
  const tx = await sql.reserve();
  await tx`insert into lazy values (1, '')`;
  const rows = await tx<{ during: string }[]>`
    update lazy set n = n + 1 where ${asyncCommit(tx)} returning current_setting('synchronous_commit') as during`;
  const [after] = await tx<{ value: string }[]>`select current_setting('synchronous_commit') as value`;
  tx.release();
  return { rows: rows.length, during: rows[0]?.during ?? "", after: after?.value ?? "" };
}

let door: Door;
let server: TestDatabase | null = null;
beforeAll(async () => {
  door = await openDoor(() => []);
  if (testServer) server = await testDatabase(testServer, { replicas: 1, max: 1 });
}, 60_000);
afterAll(() => Promise.all([door?.close(), server?.drop()]));

test("this statement does not wait for the disk, the next one does", { tags: ["postgres"] }, async () => {
  expect(await commitsOf(server?.pools[0] as Database)).toEqual({ rows: 1, during: "off", after: "on" });
});

test("the embedded database writes as usual", async () => {
  expect(await commitsOf(door.database)).toEqual({ rows: 1, during: "on", after: "on" });
});
