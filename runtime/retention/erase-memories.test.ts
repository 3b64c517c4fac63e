import { problem } from "@signalbox/schema/problem";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { DatabaseUnavailable } from "../platform/database/unavailable.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { retentionOperations } from "./operations.ts";
import { days, insertTestEvent } from "./test-events.ts";

/** Keys of memories, by the execution that stored them. */
const memories = new Map<string, string>();
let lists = 0;
let mostAlternatives = 0;
/** Number of lists that succeed before the store is unavailable. */
let listsUntilOutage = Number.POSITIVE_INFINITY;
let outage: Error;
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
          if (lists++ >= listsUntilOutage) throw outage;
          mostAlternatives = Math.max(mostAlternatives, filter.length);
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
beforeEach(async () => {
  await door.sql`delete from cancelled_for_erasure`;
  lists = 0;
  listsUntilOutage = Number.POSITIVE_INFINITY;
});

test.each([
  ["a store", 7, problem("unavailable", "The store redis is unavailable."), "The store redis is unavailable"],
  ["the database", 9, new DatabaseUnavailable("no answer"), "The database does not answer"],
])(
  "if the memories of cancelled executions cannot be looked for again because of %s, the same request removes them later",
  async (_, number, cause, reason) => {
    outage = cause;
    const subject = `alpha:acme/webshop#${number}`;
    const id = await insertTestEvent(door.sql, { ago: 1, subject, actor: "mona", state: "running" });
    listsUntilOutage = 1;
    const refused = await door.post("/api/erase", { actor: "mona" });
    expect(refused).toMatchObject({
      status: 503,
      body: { error: expect.stringMatching(/Send the request again to remove them\.$/) },
    });
    expect(refused.body.error).toContain(reason);
    expect(await door.sql`select 1 from webhook_events where actor is not null`).toEqual([]);
    listsUntilOutage = Number.POSITIVE_INFINITY;
    memories.set(id, "late");
    expect((await door.post("/api/erase", { actor: "mona" })).body).toMatchObject({ events: 0, memories: 1 });
    expect(memories.size).toBe(0);
  },
);

/** Events by one person on one issue, each with an execution. */
const insertMany = (actor: string, subject: string, count: number, state: string) => door.sql`
    with numbers as (select gen_random_uuid() as id from generate_series(1, ${count}::int)), events as (
      insert into webhook_events (id, source, slug, delivery_id, event_name, actor, subject, outcome, headers, body)
      select id, 'alpha', 'alpha', id, 'issues', ${actor}, ${subject}, 'dispatched', '{}', '{}' from numbers
    )
    insert into task_executions (id, event_id, task_id, source, slug, canonical_trigger, subject, content, state)
    select id, id, 'triage', 'alpha', 'alpha', 'issue.created', ${subject}, 'text', ${state} from numbers`;

test("the memories of many executions are listed together, and a store gets no more than 500 alternatives at once", async () => {
  await insertMany("bob", "alpha:acme/webshop#8", 2500, "succeeded");
  expect((await door.post("/api/erase", { actor: "bob" })).body).toMatchObject({ executions: 2500 });
  expect([lists, mostAlternatives]).toEqual([5, 500]);
});

test("an erasure of a person that is interrupted half way is completed by the same request, with memories stored meanwhile", async () => {
  const { sql } = door;
  const subject = "alpha:acme/webshop#10";
  await insertMany("eve", subject, 600, "held");
  await sql`
    create function interrupt() returns trigger language plpgsql as $$ begin
      if (select count(*) from webhook_events where subject = 'alpha:acme/webshop#10' and actor is null) > 0 then
        raise 'canceling statement' using errcode = '57014';
      end if;
      return null;
    end $$`;
  await sql`create trigger interrupt before update on webhook_events for each statement execute function interrupt()`;
  const refused = await door.post("/api/erase", { actor: "eve" });
  expect(refused).toMatchObject({ status: 503, body: { error: expect.stringMatching(/Send it again\.$/) } });
  await sql`drop trigger interrupt on webhook_events`;
  const [erased] = await sql<
    { id: string }[]
  >`select id from webhook_events where subject = ${subject} and actor is null limit 1`;
  memories.set(erased?.id ?? "", "late");
  expect((await door.post("/api/erase", { actor: "eve" })).body).toMatchObject({ events: 100, memories: 1 });
});
