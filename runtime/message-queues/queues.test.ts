import type { CloudEvent, Queue } from "@signalbox/sdk";
import { PluginError } from "@signalbox/sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { insertArrivals } from "../webhooks/queries.ts";
import { openedEvent } from "../webhooks/test-event.ts";
import { openQueues } from "./open.ts";
import { queueOperations } from "./operations.ts";
import { keptDays, sweepQueues } from "./queries.ts";
import { startRelay } from "./relay.ts";

/** A queue like one of a plugin: in memory, and unavailable on demand. */
const outside = {
  away: false,
  code: "unavailable" as "unavailable" | "timeout",
  got: [] as CloudEvent[],
  expired: [] as string[],
};
const must = () => {
  if (outside.away) throw new PluginError(outside.code, "It sleeps.");
};
const plugin: Queue = {
  about: "In memory.",
  publish: async (messages) => {
    must();
    outside.got.push(...messages);
  },
  pending: async () => {
    must();
    return { items: outside.got, total: outside.got.length };
  },
  take: async () => {
    must();
    return outside.got;
  },
  ack: async () => {
    must();
    return true;
  },
  expire: async (before) => {
    must();
    outside.expired.push(before);
  },
};
const plugins = new Map([["outside", plugin]]);

let door: Door;
beforeAll(async () => {
  door = await openDoor(({ sql }) => queueOperations(openQueues(sql, plugins)));
}, 60_000);
afterAll(() => door?.close());
beforeEach(async () => {
  await door.sql`delete from webhook_events`;
  await door.sql`delete from queue_takes`;
  await door.sql`delete from queue_positions`;
  await door.sql`delete from refused_messages`;
});

/** An event as the dispatcher stores it, with one execution. */
async function event(issue: number, task_id = "triage"): Promise<{ event: string; execution: string }> {
  const execution = newId();
  const row = openedEvent({ actor: "mona", subject: `alpha:octo/app#${issue}`, body: Buffer.from('{"secret":1}') });
  const executions = [{ id: execution, task_id, canonical_trigger: "issue.created" }];
  await insertArrivals(door.sql, [{ event: row, project: "octo/app", issue: String(issue), content: "text", executions }]);
  return { event: row.id, execution };
}
const finish = (id: string, state = "succeeded") =>
  door.sql`update task_executions set state = ${state}, attempts = attempts + 1, finished_at = now(), result = 'Done.' where id = ${id}`;
const pending = async (query = "") => (await door.get(`/api/postgres/events/pending${query}`)).body as CloudEvent[];
const take = async (body: object = {}): Promise<CloudEvent[]> => (await door.post("/api/postgres/events/take", body)).body.events;
const ack = (id: string) => door.send("POST", `/api/postgres/events/${id}/ack`);
const ids = (events: readonly CloudEvent[]) => events.map((one) => one.id);

describe("the queue of the database", () => {
  test("lists received events and finished executions as CloudEvents, oldest first", async () => {
    const first = await event(1);
    const second = await event(2);
    await finish(first.execution);
    await finish(second.execution, "failed");
    const listed = await door.get("/api/postgres/events/pending");
    expect(listed).toMatchObject({ status: 200, total: 4 });
    expect(listed.body.map(({ type }: CloudEvent) => type)).toEqual([
      "dev.signalbox.event.received",
      "dev.signalbox.event.received",
      "dev.signalbox.execution.succeeded",
      "dev.signalbox.execution.failed",
    ]);
    expect(listed.body[0]).toMatchObject({
      specversion: "1.0",
      id: first.event,
      source: "/webhook/alpha",
      subject: "alpha:octo/app#1",
      datacontenttype: "application/json",
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        event_id: first.event,
        event_name: "issues",
        action: "opened",
        canonical_triggers: ["issue.created"],
        polled: false,
      },
    });
    expect(listed.body[2]).toMatchObject({
      id: `${first.execution}.1.succeeded`,
      source: "/api/task-executions",
      data: { execution_id: first.execution, task_id: "triage", state: "succeeded", result: "Done." },
    });
    expect(JSON.stringify(listed.body)).not.toContain("secret");
    expect(ids(await pending("?limit=1&offset=1"))).toEqual([second.event]);
  });

  test("a taken message is hidden from others until its lease ends; an acknowledged one is gone", async () => {
    const [first, second] = [await event(1), await event(2)];
    expect(ids(await take({ limit: 1, lease_seconds: 600 }))).toEqual([first.event]);
    expect(ids(await take({ limit: 5, lease_seconds: 600 }))).toEqual([second.event]);
    expect(await take()).toEqual([]);
    expect(await pending()).toEqual([]);
    expect(await ack(first.event)).toMatchObject({ status: 204, body: null });
    expect((await ack(first.event)).status).toBe(204);
    await door.sql`update queue_takes set lease_expires_at = now() - interval '1 second'`;
    expect(ids(await pending())).toEqual([second.event]);
    expect(ids(await take())).toEqual([second.event]);
  });

  test("concurrent consumers get different events", async () => {
    for (let issue = 1; issue <= 9; issue++) await event(issue);
    const taken = await Promise.all([take({ limit: 3 }), take({ limit: 3 }), take({ limit: 3 })]);
    expect(new Set(taken.flatMap(ids)).size).toBe(9);
  });

  test("an execution that is restarted and ends again is published again", async () => {
    const { event: id, execution } = await event(1);
    await finish(execution, "failed");
    for (const one of await take()) await ack(one.id);
    await door.sql`update task_executions set state = 'queued', finished_at = null where id = ${execution}`;
    expect(await pending()).toEqual([]);
    await finish(execution);
    expect(ids(await pending())).toEqual([`${execution}.2.succeeded`]);
    expect(id).toBeDefined();
  });

  test("the sweep removes finished takes, but never an unacknowledged message", async () => {
    const [old, older, open] = [await event(1), await event(2), await event(3)];
    const age = (id: string, minutes: number) => {
      const when = Date.now() - minutes * 60_000;
      const early = `${when.toString(16).padStart(12, "0")}`;
      const moved = `${early.slice(0, 8)}-${early.slice(8)}-${id.slice(14)}`;
      return door.sql`with moved as (update task_executions set event_id = null where event_id = ${id})
        update webhook_events set received_at = ${new Date(when).toISOString()}, id = ${moved} where id = ${id}`;
    };
    await age(older.event, 30);
    await age(old.event, 20);
    await age(open.event, 10);
    const [first, second, third] = await take({ limit: 3, lease_seconds: 1 });
    for (const one of [first, second]) await ack((one as CloudEvent).id);
    expect(await sweepQueues(door.sql)).toBe(2);
    await door.sql`update queue_takes set lease_expires_at = now() - interval '1 second'`;
    expect(ids(await pending())).toEqual([(third as CloudEvent).id]);
    await ack((third as CloudEvent).id);
    expect(await sweepQueues(door.sql)).toBe(1);
    expect(await pending()).toEqual([]);
    expect((await ack((third as CloudEvent).id)).status).toBe(404);
  });

  test("keeps messages for a week", async () => {
    const { event: id } = await event(1);
    await door.sql`update webhook_events set received_at = now() - make_interval(days => ${keptDays}) - interval '1 minute' where id = ${id}`;
    expect(await pending()).toEqual([]);
  });
});

describe("invalid requests", () => {
  test.each(["/api/agents/events/pending", "/api/redis/events/pending"])("%s: there is no such queue", async (path) => {
    expect(await door.get(path)).toMatchObject({
      status: 404,
      body: { error: expect.stringMatching(/There is no queue.*; available: .*postgres/) },
    });
  });
  test("unknown events, limits and leases", async () => {
    expect(await ack(newId())).toMatchObject({ status: 404, body: { error: expect.stringContaining("postgres") } });
    expect((await ack((await event(1)).event)).status).toBe(404);
    for (const body of [{ limit: 0 }, { limit: 1001 }, { lease_seconds: 0 }, { lease_seconds: "x" }])
      expect((await door.post("/api/postgres/events/take", body)).status).toBe(400);
    expect((await door.get("/api/postgres/events/pending?limit=0")).status).toBe(400);
    expect((await door.post("/api/nowhere/events/take", {})).status).toBe(404);
    expect((await door.send("POST", "/api/nowhere/events/1/ack")).status).toBe(404);
  });
  test("an unavailable queue answers 503", async () => {
    outside.away = true;
    expect((await door.get("/api/outside/events/pending")).status).toBe(503);
    expect((await door.post("/api/outside/events/take", {})).status).toBe(503);
    expect(await door.send("POST", "/api/outside/events/1/ack")).toMatchObject({
      status: 503,
      body: { error: expect.stringContaining("It sleeps") },
    });
    outside.code = "timeout";
    expect((await door.get("/api/outside/events/pending")).status).toBe(503);
    Object.assign(outside, { away: false, code: "unavailable" });
  });
});

test("an unavailable queue does not prevent the sweep of others", async () => {
  outside.away = true;
  const expired: string[] = [];
  const queues = new Map([...plugins, ["other", { ...plugin, expire: async (before: string) => void expired.push(before) }]]);
  const relay = startRelay({ sql: door.sql, queues, log: noLog, warn: () => {}, relayMs: 3_600_000, sweepMs: 3_600_000 });
  await expect.poll(() => expired.length).toBe(1);
  await relay.stop();
  outside.away = false;
});

test("plugins' queues get every message once, also after they were unavailable", async () => {
  outside.got.length = 0;
  outside.away = true;
  const { event: first } = await event(1);
  const relay = startRelay({ sql: door.sql, queues: plugins, log: noLog, warn: () => {}, relayMs: 20, sweepMs: 50 });
  await new Promise((done) => setTimeout(done, 100));
  expect(outside.got).toEqual([]);
  outside.away = false;
  const { event: second } = await event(2);
  await expect.poll(() => ids(outside.got).sort()).toEqual([first, second].sort());
  expect(ids(outside.got)[0]).toBe(first);
  await expect.poll(() => outside.expired.length).toBeGreaterThan(0);
  // Removed and added again, as in an upgrade; then a second one is added.
  plugins.delete("outside");
  const { event: third } = await event(3);
  const later: CloudEvent[] = [];
  plugins.set("outside", { ...plugin, publish: async (messages) => void later.push(...messages) });
  plugins.set("more", plugin);
  outside.got.length = 0;
  relay.refresh();
  await expect.poll(() => ids(later)).toEqual([third]);
  await expect.poll(() => ids(outside.got)).toEqual([first, second, third]);
  await relay.stop();
  plugins.delete("more");
  plugins.set("outside", plugin);
  expect(ids(await pending())).toEqual([first, second, third]);
});
