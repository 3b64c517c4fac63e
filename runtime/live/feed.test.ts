import { expect, test } from "vitest";
import type { Execution } from "../executions/queries.ts";
import type { Sql } from "../platform/database/client.ts";
import { firstIdAt } from "../platform/ids.ts";
import { LiveFeed } from "./feed.ts";
import { changeOf, LiveStream } from "./stream.ts";

const signal = new AbortController().signal;
const execution = (state: string, created = 0) => ({ id: firstIdAt(created), state }) as Execution;

/** A database with these executions and no steps. Records the statements; fragments of statements are never awaited. */
function database(executions: () => readonly Execution[]) {
  const statements: string[] = [];
  const tag = ([first = ""]: readonly string[], ...values: { text?: string }[]) => ({
    text: first + (values[0]?.text ?? ""),
    // biome-ignore lint/suspicious/noThenProperty: statements are thenables, as those of the driver
    then: (done: (rows: readonly unknown[]) => void) => {
      statements.push(first);
      done(/from execution_steps/.test(first) ? [] : executions());
    },
  });
  return { sql: Object.assign(tag, { unsafe: () => ({}) }) as unknown as Sql, statements };
}

test("200 streams need as many reads of the database as two", async () => {
  const running = execution("running");
  const { sql, statements } = database(() => [running]);
  const feed = new LiveFeed(sql);
  const streams = Array.from({ length: 200 }, () => feed.open());
  expect(await Promise.all(streams.map((stream) => stream.begun(signal)))).toEqual(streams.map(() => true));
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
  let isAway = true;
  const { sql } = database(() => {
    if (isAway) throw new Error("no connection");
    return [];
  });
  const feed = new LiveFeed(sql);
  const streams = [feed.open(), feed.open()];
  for (const stream of streams) await expect(stream.begun(signal)).rejects.toThrow("no connection");
  isAway = false;
  const next = feed.open();
  expect(await next.begun(signal)).toBe(true);
  feed.close(next);
});

test("a stream that is read slowly keeps the last change of each execution, and ends if it is too far behind", async () => {
  const stream = new LiveStream(undefined);
  stream.begin();
  for (const state of ["queued", "running", "succeeded"]) stream.push(changeOf(execution(state), state));
  expect((await stream.changes(signal).next()).value).toMatchObject({ at: "succeeded" });
  for (let n = 0; n < 10_000; n++) stream.push(changeOf(execution("running", n), ""));
  expect(stream.isOver).toBe(true);
  await expect(stream.changes(signal).next()).rejects.toThrow(/read too slowly/);
});
