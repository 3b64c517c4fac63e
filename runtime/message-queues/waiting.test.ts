import type { CloudEvent, ForwardingQueue } from "@signalbox/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { openQueues } from "./open.ts";
import { queueOperations } from "./operations.ts";
import { sweepQueues } from "./queries.ts";

// A queue that forwards its messages has no consumers, so no operation knows it.
const forwarding = new Map<string, ForwardingQueue>([["chat", { about: "Into a chat.", publish: async () => {} }]]);

let door: Door;
beforeAll(async () => {
  door = await openDoor(({ sql }) => queueOperations(openQueues(sql, forwarding)));
}, 60_000);
afterAll(() => door?.close());

const pending = async () => (await door.get("/api/postgres/events/pending")).body as CloudEvent[];

test("an execution that waits or is held publishes one message each time, however long it lasts", async () => {
  const [waiting, held] = [newId(), newId()];
  for (const [id, state] of [
    [waiting, "waiting"],
    [held, "held"],
  ] as const)
    await door.sql`insert into task_executions (id, task_id, source, slug, subject, content, canonical_trigger, state, held_reason, created_at)
      values (${id}, 'triage', 'alpha', 'alpha', ${`alpha:octo/app#${state}`}, 'text', 'issue.created', ${state},
        ${state === "held" ? "the budget of the day" : null}, now() - interval '2 hours')`;
  expect(await pending()).toMatchObject([
    { type: "dev.signalbox.execution.waiting", data: { execution_id: waiting, state: "waiting" } },
    { type: "dev.signalbox.execution.held", data: { execution_id: held, held_reason: "the budget of the day" } },
  ]);
  const taken = (await door.post("/api/postgres/events/take", { limit: 10 })).body.events as CloudEvent[];
  for (const { id } of taken) expect((await door.send("POST", `/api/postgres/events/${id}/ack`)).status).toBe(204);
  await door.sql`update queue_takes set happened_at = now() - interval '2 hours'`;
  await sweepQueues(door.sql);
  expect(await pending()).toEqual([]);
  await door.sql`update task_executions set state = 'queued' where id = ${waiting}`;
  await sweepQueues(door.sql);
  await door.sql`update task_executions set state = 'waiting' where id = ${waiting}`;
  expect(await pending()).toMatchObject([{ data: { execution_id: waiting } }]);
});

test("no messages can be taken from a forwarding queue", async () => {
  const { status, body } = await door.get("/api/chat/events/pending");
  expect([status, body]).toMatchObject([404, { error: expect.stringContaining("available: postgres.") }]);
});
