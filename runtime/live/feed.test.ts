import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { Execution } from "../executions/queries.ts";
import type { Sql } from "../platform/database/client.ts";
import type { BoundOperation, Context, Events } from "../platform/operation.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { LiveFeed } from "./feed.ts";
import { liveOperations } from "./operations.ts";
import type { LiveStream } from "./stream.ts";
import { execution, minuteMs, signal, take } from "./test-stream.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
});
afterEach(async () => {
  vi.useRealTimers();
  await repairReads();
  await door.sql`delete from task_executions`;
});
afterAll(() => door?.close());

/** Stores executions. */
const store = async (...executions: readonly Execution[]): Promise<void> => {
  const [ids, states] = [executions.map(({ id }) => id), executions.map(({ state }) => state)];
  await door.sql`
    insert into task_executions (id, task_id, canonical_trigger, source, slug, content, state)
    select id, 'task', 'issue.created', 'alpha', 'alpha', '', state from unnest(${ids}::uuid[], ${states}::text[]) as e (id, state)`;
};

/** Reads of executions fail until `repairReads`. */
const breakReads = (): Promise<unknown> => door.sql`alter table task_executions rename to unreadable_executions`;
const repairReads = (): Promise<unknown> => door.sql`alter table if exists unreadable_executions rename to task_executions`;

/** The database, with the statements that it was sent, without their fragments, and how many it has not answered yet. */
function recorded() {
  const record = { statements: [] as string[], open: 0 };
  const sql = new Proxy(door.sql, {
    apply(target, self, [parts, ...values]) {
      const query = Reflect.apply(target, self, [parts, ...values]);
      const text = Array.isArray(parts) ? parts.join("?") : "";
      if (!/^\s*(?:select|with)\b/.test(text)) return query;
      record.statements.push(text);
      record.open++;
      return query.finally(() => record.open--);
    },
  }) as Sql;
  return { sql, record };
}

/** Opens a stream. The feed has read all executions when it has begun. */
async function begun(feed: LiveFeed, since?: number): Promise<LiveStream> {
  const stream = feed.open(undefined, since);
  await stream.waitUntilBegun(signal);
  return stream;
}

test("200 streams need as many reads of the database as two", async () => {
  const running = execution("running");
  await store(running);
  const { sql, record } = recorded();
  const feed = new LiveFeed(sql);
  const streams = Array.from({ length: 200 }, () => feed.open());
  expect(await Promise.all(streams.map((stream) => stream.waitUntilBegun(signal)))).toEqual(streams.map(() => true));
  // The first stream starts a read; the others, which came meanwhile, share the next one. Each read has executions and steps.
  expect(record.statements.length).toBeLessThanOrEqual(4);
  for (const stream of streams) {
    expect((await stream.changes(signal).next()).value?.data).toMatchObject({
      execution_id: running.id,
      execution: running,
      step: null,
    });
    feed.close(stream);
  }
});

test("an error of the database ends all streams, and the next stream reads again", async () => {
  await breakReads();
  const feed = new LiveFeed(door.sql);
  const streams = [feed.open(), feed.open()];
  for (const stream of streams) await expect(stream.waitUntilBegun(signal)).rejects.toThrow(/does not exist/);
  await repairReads();
  const next = feed.open();
  expect(await next.waitUntilBegun(signal)).toBe(true);
  feed.close(next);
});

test("a stream begins with the running executions and, if it continues another, with those that changed shortly before or later", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const start = Date.now();
  const running = execution("running", start - minuteMs);
  await store(running, execution("queued", start));
  const feed = new LiveFeed(door.sql);
  const streams = [await begun(feed)];
  vi.setSystemTime(start + 180 * minuteMs);
  streams.push(await begun(feed), await begun(feed, start + minuteMs / 2));
  const [, next, again] = streams as [LiveStream, LiveStream, LiveStream];
  expect((await take(next, 1))[0]).toMatchObject({ at: new Date().toISOString(), data: { execution: running } });
  next.end();
  expect(await take(next, 1)).toEqual([]);
  expect((await take(again, 2)).map(({ data }) => data.execution?.state)).toEqual(["running", "queued"]);
  for (const stream of streams) feed.close(stream);
});

test("a stream that continues soon after the last one ended or failed receives the executions that changed in between", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  const since = Date.now();
  await store(execution("running", since - 60 * minuteMs));
  const feed = new LiveFeed(door.sql);
  /** The states that a stream contains. It is closed then, and the feed reads no more. */
  const statesOf = async (state: string) => {
    await door.sql`update task_executions set state = ${state}`;
    const stream = await begun(feed, since);
    stream.end();
    const changes = await take(stream, 2);
    feed.close(stream);
    await vi.advanceTimersByTimeAsync(1_000);
    return changes.map(({ data }) => data.execution?.state);
  };
  expect(await statesOf("running")).toEqual(["running"]);
  expect(await statesOf("waiting")).toEqual(["waiting"]);
  await breakReads();
  await expect(begun(feed)).rejects.toThrow(/does not exist/);
  await repairReads();
  expect(await statesOf("held")).toEqual(["held"]);
  await vi.advanceTimersByTimeAsync(minuteMs);
  expect(await statesOf("queued")).toEqual([]);
});

test("executions of a burst that have ended are read for a minute, with turns for other work", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  const start = Date.now();
  await store(...Array.from({ length: 2_100 }, (_, n) => execution("succeeded", start + n)));
  const { sql, record } = recorded();
  const feed = new LiveFeed(sql);
  /** The number of statements for a stream that begins at this time. */
  const readAt = async (ms: number) => {
    vi.setSystemTime(start + ms);
    const before = record.statements.length;
    feed.close(await begun(feed));
    return record.statements.length - before;
  };
  expect(await readAt(100)).toBe(6);
  const second = readAt(minuteMs / 2);
  // Those in which the feed does not wait for the database.
  let turns = 0;
  for (let isReading = true; isReading; ) {
    isReading = await Promise.race([second.then(() => false), nextTurn(true)]);
    if (record.open === 0) turns++;
  }
  expect(await second).toBe(6);
  expect(turns).toBeGreaterThan(6);
  await readAt(2 * minuteMs);
  expect(await readAt(2 * minuteMs)).toBe(2);
});

test("2,100 executions that are queued together and end together are sent to all streams, and are not what others begin with", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const start = Date.now();
  await store(...Array.from({ length: 2_100 }, (_, n) => execution("queued", start - 100 + n)));
  const feed = new LiveFeed(door.sql);
  const first = await begun(feed);
  expect(await take(first, 2_100)).toHaveLength(2_100);
  vi.setSystemTime(start + minuteMs);
  const second = await begun(feed);
  await door.sql`update task_executions set state = 'cancelled'`;
  for (const stream of [first, second])
    expect(new Set((await take(stream, 2_100)).map(({ data }) => data.execution?.state))).toEqual(new Set(["cancelled"]));
  const third = await begun(feed);
  const later = execution("running", start + minuteMs);
  await store(later);
  expect((await take(third, 1)).map(({ data }) => data.execution)).toEqual([expect.objectContaining(later)]);
  for (const stream of [first, second, third]) feed.close(stream);
});

test("executions that ended while an older one runs are not new", async () => {
  const hourAgo = Date.now() - 60 * minuteMs;
  const ended = Array.from({ length: 300 }, (_, n) => execution("succeeded", hourAgo + 1 + n));
  const running = execution("running", hourAgo);
  await store(running, ...ended);
  const feed = new LiveFeed(door.sql);
  const stream = await begun(feed);
  const next = await begun(feed);
  stream.end();
  expect((await take(stream, 2)).map(({ data }) => data.execution_id)).toEqual([running.id]);
  for (const one of [stream, next]) feed.close(one);
});

test("a stream begins after the feed has read the steps, so that none can end in between unseen", async () => {
  await store(execution("running"));
  const { sql, record } = recorded();
  const feed = new LiveFeed(sql);
  const stream = await begun(feed);
  expect(record.statements.filter((text) => text.includes("from execution_steps"))).toHaveLength(1);
  feed.close(stream);
});

test("a reader that reconnects receives an execution whose end was stored with an earlier time", async () => {
  const since = Date.now();
  const ended = execution("succeeded", since - minuteMs);
  await store(ended);
  await door.sql`update task_executions set finished_at = ${new Date(since - 5_000).toISOString()}`;
  const follow = liveOperations.find(({ op }) => op.id === "events.follow") as BoundOperation;
  const stop = new AbortController();
  const context = { sql: door.sql, signal: stop.signal, last_event_id: new Date(since).toISOString() } as Partial<Context>;
  const { all } = (await follow.run({ seconds: 60 }, context as Context)) as Events;
  for await (const { data } of all) {
    expect(data).toMatchObject({ execution: ended });
    stop.abort();
  }
  expect.assertions(1);
});
