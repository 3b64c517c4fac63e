import { problem } from "@signalbox/schema/problem";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { retentionOperations } from "./operations.ts";
import { insertTestEvent } from "./test-events.ts";

const days = {
  RETENTION_EVENT_DAYS: 90,
  RETENTION_DISCARDED_DAYS: 7,
  RETENTION_TRANSCRIPT_DAYS: 60,
  RETENTION_HISTORY_DAYS: 400,
  RETENTION_AUDIT_DAYS: 400,
};
/** Keys of memories, by the execution that stored them. */
const memories = new Map<string, string>();
let lists = 0;
/** Number of lists that succeed before the store is unavailable. */
let listsUntilOutage = Number.POSITIVE_INFINITY;
let door: Door;
beforeAll(async () => {
  door = await openDoor(({ longRunning }) =>
    retentionOperations({
      days,
      bus: { publish: async () => {} } as never,
      longRunning,
      sources: () => ["alpha"],
      memories: {
        list: async (filter) => {
          if (lists++ >= listsUntilOutage) throw problem("unavailable", "The store redis is unavailable.");
          return { items: filter.flatMap(({ task_id }) => memories.get(task_id ?? "") ?? []).map((key) => ({ key })) };
        },
        remove: async (key) => {
          for (const [id, stored] of memories) if (stored === key) memories.delete(id);
        },
      },
    }),
  );
}, 60_000);
afterAll(() => door?.close());
beforeEach(() => {
  lists = 0;
  listsUntilOutage = Number.POSITIVE_INFINITY;
});

test("if the memories of cancelled executions cannot be looked for again, the error names the issues with which this is repeated", async () => {
  const subject = "alpha:acme/webshop#7";
  const id = await insertTestEvent(door.sql, { ago: 1, subject, actor: "mona", state: "running" });
  listsUntilOutage = 1;
  const refused = await door.post("/api/erase", { actor: "mona" });
  expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining(`erase by subject: ${subject}.`) } });
  expect(refused.body.error).toContain("The store redis is unavailable");
  expect(await door.sql`select 1 from webhook_events where actor is not null`).toEqual([]);
  listsUntilOutage = Number.POSITIVE_INFINITY;
  memories.set(id, "late");
  expect((await door.post("/api/erase", { subject })).body).toMatchObject({ events: 1, memories: 1 });
});

test("the memories of many executions are listed together", async () => {
  const { sql } = door;
  await sql`
    with numbers as (select gen_random_uuid() as id from generate_series(1, 2500)), events as (
      insert into webhook_events (id, source, slug, delivery_id, event_name, actor, subject, outcome, headers, body)
      select id, 'alpha', 'alpha', id, 'issues', 'bob', 'alpha:acme/webshop#8', 'dispatched', '{}', '{}' from numbers
    )
    insert into task_executions (id, event_id, task_id, source, slug, canonical_trigger, subject, content, state)
    select id, id, 'triage', 'alpha', 'alpha', 'issue.created', 'alpha:acme/webshop#8', 'text', 'succeeded' from numbers`;
  expect((await door.post("/api/erase", { actor: "bob" })).body).toMatchObject({ executions: 2500 });
  expect(lists).toBe(3);
});
