import type { CloudEvent, ForwardingQueue } from "@signalbox/sdk";
import { PluginError } from "@signalbox/sdk";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { queuesProbe } from "../status/local-probes.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { insertArrivals } from "../webhooks/queries.ts";
import { openedEvent } from "../webhooks/test-event.ts";
import { sweepQueues } from "./queries.ts";
import { type QueueWorker, startRelay } from "./relay.ts";

const received = "dev.signalbox.event.received";

/** A broker that stores each id once, and refuses messages of some types. */
const broker = { refuses: new Set<string>(), got: [] as CloudEvent[], calls: 0, isDown: false };
const queue: ForwardingQueue = {
  about: "A test queue.",
  publish: async (messages) => {
    broker.calls += 1;
    if (broker.isDown) throw new PluginError("unavailable", "It sleeps.");
    const isRefused = ({ type, id }: CloudEvent) => broker.refuses.has(type) || broker.refuses.has(id);
    broker.got.push(...messages.filter((one) => !isRefused(one)));
    return messages.filter(isRefused).map(({ id }) => ({ id, reason: "no permission." }));
  },
};
const queues = new Map([["bus", queue]]);
const reports: Record<string, unknown>[] = [];

let door: Door;
let relay: QueueWorker | null = null;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterAll(() => door?.close());
beforeEach(async () => {
  await relay?.stop();
  relay = null;
  for (const table of ["webhook_events", "queue_takes", "queue_positions", "refused_messages"])
    await door.sql`delete from ${door.sql(table)}`;
  await door.sql`delete from task_executions`;
  Object.assign(broker, { refuses: new Set(), got: [], calls: 0, isDown: false });
  reports.length = 0;
});

const start = () => {
  const warn = (message: string, context: Record<string, unknown>) => void reports.push({ message, ...context });
  relay = startRelay({ sql: door.sql, queues, log: noLog, warn, relayMs: 20, sweepMs: 50 });
};
async function event(issue: number): Promise<{ event: string; execution: string }> {
  const execution = newId();
  const row = openedEvent({ actor: "mona", subject: `alpha:octo/app#${issue}` });
  const executions = [{ id: execution, task_id: "triage", canonical_trigger: "issue.created" }];
  await insertArrivals(door.sql, [{ event: row, project: "octo/app", issue: String(issue), content: "text", executions }]);
  return { event: row.id, execution };
}
async function finished(issue: number): Promise<string> {
  const { execution } = await event(issue);
  await door.sql`update task_executions set state = 'succeeded', attempts = 1, finished_at = now(), result = 'Done.' where id = ${execution}`;
  return `${execution}.1.succeeded`;
}
const gotIds = () => broker.got.map(({ id }) => id);
const check = async () =>
  (await queuesProbe(door.sql, queues, (name) => [relay?.failureOf(name) ?? []].flat()).run(AbortSignal.timeout(10_000)))[0];
const retryNow = () => door.sql`update refused_messages set next_try_at = now()`;
const asides = () => door.sql<{ message_id: string; refusals: number; wait: number }[]>`
  select message_id, refusals, extract(epoch from next_try_at - now())::float8 as wait from refused_messages order by happened_at`;

test("a refused message is set aside, and published once the queue accepts it", async () => {
  const { event: first } = await event(1);
  const { event: second } = await event(2);
  broker.refuses.add(first);
  start();
  await expect.poll(gotIds).toEqual([second]);
  const { event: third } = await event(3);
  await expect.poll(gotIds).toEqual([second, third]);
  expect(await check()).toMatchObject({
    name: "queue:bus",
    state: "degraded",
    message: "the queue refused 1 message, which is published again later: no permission",
  });
  expect(reports).toEqual([
    {
      message: "a queue refused messages; they are published again later",
      queue: "bus",
      reason: "no permission.",
      items: [first],
      count: 1,
    },
  ]);
  // Refused again: the next wait is longer.
  await retryNow();
  await expect.poll(async () => (await asides())[0]?.refusals).toBe(2);
  expect((await asides())[0]?.wait).toBeGreaterThan(50);
  broker.refuses.clear();
  await retryNow();
  await expect.poll(gotIds).toEqual([second, third, first]);
  expect(await asides()).toEqual([]);
  await expect.poll(async () => (await check())?.state).toBe("ok");
  await sweepQueues(door.sql);
  const { event: fourth } = await event(4);
  await expect.poll(gotIds).toEqual([second, third, first, fourth]);
});

test("a queue that refuses every message gets them in order, once it accepts them", async () => {
  const { event: first } = await event(1);
  broker.refuses.add(received);
  start();
  const { event: second } = await event(2);
  await expect
    .poll(async () => (await check())?.message)
    .toBe("the queue refuses every message: no permission; they wait in the database");
  expect((await check())?.state).toBe("failed");
  expect(await asides()).toEqual([]);
  broker.refuses.clear();
  await expect.poll(gotIds, { timeout: 20_000 }).toEqual([first, second]);
});

test("a full batch of refused messages does not hold up those of another kind", async () => {
  const first = await finished(0);
  const all = Array.from({ length: 505 }, (_, at) => event(at + 1));
  await Promise.all(all);
  await door.sql`update task_executions set finished_at = now() + interval '1 second' where state = 'succeeded'`;
  broker.refuses.add(received);
  start();
  await expect.poll(gotIds, { timeout: 20_000 }).toEqual([first]);
  await expect.poll(async () => (await asides()).length).toBe(500);
  broker.refuses.clear();
  await retryNow();
  await expect.poll(() => new Set(gotIds()).size, { timeout: 20_000 }).toBe(507);
  expect(gotIds().length).toBe(507);
});

test("while the queue is unavailable, nothing is set aside or forgotten", async () => {
  const { event: first } = await event(1);
  const { event: second } = await event(2);
  broker.refuses.add(first);
  start();
  await expect.poll(gotIds).toEqual([second]);
  broker.isDown = true;
  const { event: third } = await event(3);
  await retryNow();
  await expect.poll(async () => (await check())?.state).toBe("failed");
  expect((await check())?.message).toMatch(
    /^publishing failed: It sleeps; its messages wait in the database\. Also, the queue refused 1 message/,
  );
  expect((await asides()).length).toBe(1);
  Object.assign(broker, { isDown: false, refuses: new Set() });
  await retryNow();
  await expect.poll(gotIds, { timeout: 20_000 }).toEqual([second, third, first]);
});

test("a refused message is forgotten after seven days, and when its execution was restarted", async () => {
  const done = await finished(1);
  broker.refuses.add(done);
  const { event: old } = await event(2);
  broker.refuses.add(old);
  start();
  await expect.poll(async () => (await asides()).length).toBe(2);
  await door.sql`update task_executions set state = 'queued', finished_at = null where id = ${done.split(".")[0] as string}`;
  await retryNow();
  await expect.poll(async () => (await asides()).map((one) => one.message_id)).toEqual([old]);
  await door.sql`update refused_messages set happened_at = now() - interval '8 days'`;
  await expect.poll(async () => await asides()).toEqual([]);
  expect(reports.at(-1)).toEqual({
    message: "messages were refused by a queue for seven days and are deleted from it",
    queue: "bus",
    count: 1,
  });
});
