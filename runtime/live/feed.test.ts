import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import type { Execution } from "../executions/queries.ts";
import type { Sql } from "../platform/database/client.ts";
import { firstIdOf } from "../platform/ids.ts";
import type { BoundOperation, Context, Events } from "../platform/operation.ts";
import { LiveFeed } from "./feed.ts";
import { liveOperations } from "./operations.ts";
import { type Change, changeOf, LiveStream } from "./stream.ts";

const signal = new AbortController().signal;
const minuteMs = 60_000;
const execution = (state: string, created = 0) => ({ id: firstIdOf(created), state }) as Execution;

/** A database with these executions and no steps. Records the statements that it has answered, without their fragments. */
function database(executions: () => readonly Execution[]) {
  const statements: string[] = [];
  const tag = async (parts: readonly string[], ...values: unknown[]) => {
    const text = parts.join("?");
    await nextTurn();
    if (!/^\s*(?:select|with)\b/.test(text)) return [];
    statements.push(text);
    return /from execution_steps/.test(text) ? [] : rowsOf(text, values, executions());
  };
  return { sql: Object.assign(tag, { unsafe: () => ({}) }) as unknown as Sql, statements };
}

/** What the statements of `queries.ts` find. */
function rowsOf(text: string, values: readonly unknown[], all: readonly Execution[]): readonly Execution[] {
  const since = values[2] as string;
  if (text.includes("finished_at")) return all.filter(({ finished_at }) => finished_at && String(finished_at) > since);
  const after = values[text.includes("'running'") ? 2 : 1] as string;
  const ids = new Set((values[4] as readonly string[] | undefined) ?? []);
  for (const { id } of all.filter(({ id }) => id > after).slice(0, 500)) ids.add(id);
  return all.filter(({ id, state }) => ids.has(id) || (values.length > 3 && state === "running"));
}

/** The next changes of a stream. */
async function take(stream: LiveStream, count: number): Promise<Change[]> {
  const changes: Change[] = [];
  for await (const change of stream.changes(signal)) if (changes.push(change) === count) break;
  return changes;
}

/** Opens a stream. The feed has read all executions when it has begun. */
async function begun(feed: LiveFeed, since?: number): Promise<LiveStream> {
  const stream = feed.open(undefined, since);
  await stream.waitUntilBegun(signal);
  return stream;
}

afterEach(() => {
  vi.useRealTimers();
});

test("200 streams need as many reads of the database as two", async () => {
  const running = execution("running");
  const { sql, statements } = database(() => [running]);
  const feed = new LiveFeed(sql);
  const streams = Array.from({ length: 200 }, () => feed.open());
  expect(await Promise.all(streams.map((stream) => stream.waitUntilBegun(signal)))).toEqual(streams.map(() => true));
  // The first stream starts a read; the others, which came meanwhile, share the next one. Each read has executions and steps.
  expect(statements.length).toBeLessThanOrEqual(4);
  for (const stream of streams) {
    expect((await stream.changes(signal).next()).value?.data).toEqual({
      execution_id: running.id,
      execution: running,
      step: null,
    });
    feed.close(stream);
  }
});

test("an error of the database ends all streams, and the next stream reads again", async () => {
  let isDown = true;
  const { sql } = database(() => {
    if (isDown) throw new Error("no connection");
    return [];
  });
  const feed = new LiveFeed(sql);
  const streams = [feed.open(), feed.open()];
  for (const stream of streams) await expect(stream.waitUntilBegun(signal)).rejects.toThrow("no connection");
  isDown = false;
  const next = feed.open();
  expect(await next.waitUntilBegun(signal)).toBe(true);
  feed.close(next);
});

test("a stream that is read slowly keeps the last change of each execution, and ends if it is too far behind", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const stream = new LiveStream();
  stream.begin();
  for (const state of ["queued", "running", "succeeded"]) stream.push(changeOf(execution(state), state));
  expect((await stream.changes(signal).next()).value).toMatchObject({ at: "succeeded" });
  for (let second = 0; second < 40; second++) {
    for (let n = 0; n < 200; n++) stream.push(changeOf(execution("running", second * 200 + n), ""));
    vi.advanceTimersByTime(1_000);
  }
  expect(stream.isOver).toBe(true);
  await expect(stream.changes(signal).next()).rejects.toThrow(/read too slowly/);
});

test("a stream that is read does not end when thousands of executions change at once, twice", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const stream = new LiveStream();
  for (let second = 0; second < 60; second++) {
    for (let n = 0; second % 30 === 0 && n < 10_000; n++) stream.push(changeOf(execution("queued", second * minuteMs + n), ""));
    await take(stream, 160);
    stream.push(changeOf(execution("running", second), ""));
    vi.advanceTimersByTime(1_000);
  }
  expect(stream.isOver).toBe(false);
});

test("a stream ends when 50,000 changes wait, even if its reader takes a missed event from time to time", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const stream = new LiveStream();
  let n = 0;
  for (; n < 60_000 && !stream.isOver; n++) {
    stream.push(changeOf(execution("queued", n), ""));
    if (n % 1_000 === 0) vi.advanceTimersByTime(10_000);
    if (n % 1_000 === 0) stream.recordRead();
  }
  expect(n).toBe(50_001);
});

test("a stream begins with the running executions and, if it continues another, with those that changed shortly before or later", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const start = Date.now();
  const running = execution("running", start - minuteMs);
  const { sql } = database(() => [running, execution("queued", start)]);
  const feed = new LiveFeed(sql);
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
  let state: string | undefined;
  const { sql } = database(() => {
    if (state === undefined) throw new Error("no connection");
    return [execution(state, since - 60 * minuteMs)];
  });
  const feed = new LiveFeed(sql);
  /** The states that a stream contains. It is closed then, and the feed reads no more. */
  const statesOf = async (next: string) => {
    state = next;
    const stream = await begun(feed, since);
    stream.end();
    const changes = await take(stream, 2);
    feed.close(stream);
    await vi.advanceTimersByTimeAsync(1_000);
    return changes.map(({ data }) => data.execution?.state);
  };
  expect(await statesOf("running")).toEqual(["running"]);
  expect(await statesOf("waiting")).toEqual(["waiting"]);
  state = undefined;
  await expect(begun(feed)).rejects.toThrow("no connection");
  expect(await statesOf("held")).toEqual(["held"]);
  await vi.advanceTimersByTimeAsync(minuteMs);
  expect(await statesOf("queued")).toEqual([]);
});

test("executions of a burst that have ended are read for a minute, with turns for other work", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  const start = Date.now();
  const { sql, statements } = database(() => Array.from({ length: 2_100 }, (_, n) => execution("succeeded", start + n)));
  const feed = new LiveFeed(sql);
  /** The number of statements for a stream that begins at this time. */
  const readAt = async (ms: number) => {
    vi.setSystemTime(start + ms);
    const before = statements.length;
    feed.close(await begun(feed));
    return statements.length - before;
  };
  expect(await readAt(100)).toBe(6);
  const second = readAt(minuteMs / 2);
  let turns = 0;
  for (let isReading = true; isReading; turns++) isReading = await Promise.race([second.then(() => false), nextTurn(true)]);
  expect(await second).toBe(6);
  expect(turns).toBeGreaterThan(12);
  await readAt(2 * minuteMs);
  expect(await readAt(2 * minuteMs)).toBe(2);
});

test("2,100 executions that are queued together and end together are sent to all streams, and are not what others begin with", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const start = Date.now();
  let state = "queued";
  const { sql } = database(() => Array.from({ length: 2_100 }, (_, n) => execution(state, start - 100 + n)));
  const feed = new LiveFeed(sql);
  const streams = [await begun(feed)];
  expect(await take(streams[0] as LiveStream, 2_100)).toHaveLength(2_100);
  vi.setSystemTime(start + minuteMs);
  streams.push(await begun(feed));
  state = "cancelled";
  streams.push(await begun(feed));
  for (const stream of streams)
    expect(new Set((await take(stream, 2_100)).map(({ data }) => data.execution?.state))).toEqual(new Set(["cancelled"]));
  for (const stream of streams) feed.close(stream);
});

test("executions that ended while an older one runs are not new", async () => {
  const hourAgo = Date.now() - 60 * minuteMs;
  const ended = Array.from({ length: 300 }, (_, n) => execution("succeeded", hourAgo + 1 + n));
  const running = execution("running", hourAgo);
  const { sql } = database(() => [running, ...ended]);
  const feed = new LiveFeed(sql);
  const stream = await begun(feed);
  const next = await begun(feed);
  stream.end();
  expect((await take(stream, 2)).map(({ data }) => data.execution)).toEqual([running]);
  for (const one of [stream, next]) feed.close(one);
});

test("a stream begins after the feed has read the steps, so that none can end in between unseen", async () => {
  const { sql, statements } = database(() => [execution("running")]);
  const feed = new LiveFeed(sql);
  const stream = await begun(feed);
  expect(statements.filter((text) => text.includes("from execution_steps"))).toHaveLength(1);
  feed.close(stream);
});

test("a reader that reconnects receives an execution whose end was stored with an earlier time", async () => {
  const since = Date.now();
  const ended = { ...execution("succeeded", since - minuteMs), finished_at: new Date(since - 5_000).toISOString() } as Execution;
  const { sql } = database(() => [ended]);
  const follow = liveOperations.find(({ op }) => op.id === "events.follow") as BoundOperation;
  const stop = new AbortController();
  const context = { sql, signal: stop.signal, last_event_id: new Date(since).toISOString() } as Partial<Context>;
  const { all } = (await follow.run({ seconds: 60 }, context as Context)) as Events;
  for await (const { data } of all) {
    expect(data).toMatchObject({ execution: ended });
    stop.abort();
  }
  expect.assertions(1);
});
