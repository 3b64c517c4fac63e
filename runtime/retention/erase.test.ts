import { afterAll, beforeAll, expect, test } from "vitest";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { retentionOperations } from "./operations.ts";
import { days, insertTestEvent } from "./test-events.ts";

const removedMemories: string[] = [];
/** The execution that has a memory, its key, and the key of the one that it stores once the first is removed. */
let memoryOf: string;
let [memory, nextMemory]: [string | null, string | null] = ["made", null];
/** An execution that stores a memory while it is cancelled. */
let storesWhileCancelled: string;
let door: Door;
beforeAll(async () => {
  const publish = async (_: string, id: string) => {
    if (id === storesWhileCancelled) [memoryOf, memory] = [id, "made"];
  };
  door = await openDoor(({ longRunning }) => [
    ...retentionOperations({
      days,
      bus: { publish } as never,
      longRunning,
      sources: () => ["alpha", "gamma"],
      memories: {
        list: async (filter) => ({ items: memory && filter.some((one) => one.task_id === memoryOf) ? [{ key: memory }] : [] }),
        remove: async (key) => {
          removedMemories.push(key);
          [memory, nextMemory] = [nextMemory, null];
        },
      },
    }),
  ]);
}, 120_000);
afterAll(() => door?.close());

test("of an issue: payloads, transcripts and memories are removed, ids and states stay, other issues are untouched", async () => {
  const { sql } = door;
  await sql`delete from webhook_events`;
  const mine = await insertTestEvent(sql, { ago: 1, subject: "gamma:CONF#CONF-7" });
  const open = await insertTestEvent(sql, { ago: 1, subject: "gamma:CONF#CONF-7", state: "queued" });
  const other = await insertTestEvent(sql, { ago: 1, subject: "gamma:CONF#CONF-70" });
  memoryOf = mine;
  const counts = { events: 2, executions: 2, cancelled: 1, steps: 4, memories: 1 };
  expect((await door.post("/api/erase", { subject: "CONF-7", dry_run: true })).body).toMatchObject({
    dry_run: true,
    ...counts,
  });
  expect((await door.post("/api/erase", { subject: "CONF-7" })).body).toMatchObject({
    dry_run: false,
    subject: "CONF-7",
    ...counts,
  });
  expect(removedMemories).toEqual(["made"]);
  const rows = await sql`select id, state, content, result from task_executions order by id`;
  expect(rows).toEqual([
    { id: mine, state: "succeeded", content: "", result: null },
    { id: open, state: "cancelled", content: "", result: null },
    { id: other, state: "succeeded", content: "text", result: "answer" },
  ]);
  expect(await sql`select actor, title, octet_length(body) as bytes from webhook_events where id = ${mine}`).toEqual([
    { actor: null, title: null, bytes: 0 },
  ]);
});

test("a memory that an execution stores while it is cancelled is removed, too", async () => {
  removedMemories.length = 0;
  storesWhileCancelled = await insertTestEvent(door.sql, { ago: 1, subject: "gamma:CONF#CONF-8", state: "running" });
  expect((await door.post("/api/erase", { subject: "CONF-8" })).body).toMatchObject({ cancelled: 1, memories: 1 });
  expect(removedMemories).toEqual(["made"]);
});

test("so is one that it stores afterwards", async () => {
  removedMemories.length = 0;
  nextMemory = "late";
  storesWhileCancelled = await insertTestEvent(door.sql, { ago: 1, subject: "gamma:CONF#CONF-9", state: "running" });
  expect((await door.post("/api/erase", { subject: "CONF-9" })).body).toMatchObject({ cancelled: 1, memories: 2 });
  expect(removedMemories).toEqual(["made", "late"]);
});

test("by URL: reasons that name a person are removed, others stay", async () => {
  const { sql } = door;
  await sql`delete from webhook_events`;
  const one = await insertTestEvent(sql, { ago: 1, actor: "bob" });
  const two = await insertTestEvent(sql, { ago: 1, actor: "bob" });
  await sql`update webhook_events set reason = 'bob has the standing none' where id = ${one}`;
  await sql`update webhook_events set reason = 'no task is mapped' where id = ${two}`;
  await sql`update task_executions set author = 'alpha:7', changes = '{title}', held_reason = 'bob' where id = ${one}`;
  const subject = "https://github.com/acme/webshop/issues/1#issuecomment-3";
  expect((await door.post("/api/erase", { subject })).body).toMatchObject({
    subject,
    subjects: ["alpha:acme/webshop#1"],
    events: 2,
    executions: 2,
  });
  const reasons = await sql`select reason from webhook_events order by id`;
  expect(reasons).toEqual([{ reason: null }, { reason: "no task is mapped" }]);
  expect(await sql`select author, changes, held_reason from task_executions where id = ${one}`).toEqual([
    { author: null, changes: [], held_reason: null },
  ]);
  expect(await door.post("/api/erase", { subject: "that one issue" })).toMatchObject({
    status: 400,
    body: { error: expect.stringMatching(/^subject: names no issue; send /) },
  });
});

test.each([[{}], [{ subject: "a/b#1", actor: "ann" }]])("%j is 400", async (body) =>
  expect(await door.post("/api/erase", body)).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("exactly one") },
  }),
);

test("of a person, and of a project that does not exist", async () => {
  await insertTestEvent(door.sql, { ago: 1, actor: "bob" });
  expect((await door.post("/api/erase", { actor: "bob" })).body).toMatchObject({ events: 1, executions: 1, actor: "bob" });
  expect((await door.post("/api/erase", { project_id: 99 })).status).toBe(404);
});
