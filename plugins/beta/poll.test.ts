import { callOf, setUp } from "@signalbox/sdk/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import beta from "./index.ts";
import { type BetaTracker, startTracker } from "./test-tracker.ts";

const project = "octo/team/app";
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const hour = 3_600_000;
let tracker: BetaTracker;
beforeEach(async () => {
  tracker = await startTracker();
});
afterEach(() => tracker.close());

async function bench() {
  const { sources, tools } = await setUp(beta);
  const source = sources?.beta;
  if (!source?.poll) throw new Error("beta has no poll");
  const connection = source.connection.parse({ token: "test-token-1", url: tracker.url });
  const poll = async (cursor: string | null, since = ago(hour)) => {
    const polled = await source.poll?.({ project, since, cursor }, callOf(connection));
    if (!polled) throw new Error("no answer");
    const events = await Promise.all(polled.events.map((event) => source.parse(event)));
    return {
      events,
      cursor: polled.cursor,
      told: events.map(({ event_name, action, subject }) => `${event_name}/${action} ${subject?.issue}`),
    };
  };
  return { source, tools, connection, poll };
}

test("what was opened, closed, merged, changed and written, in order, and no more of it later", async () => {
  const { poll } = await bench();
  tracker.add("issues", 1, ago(10 * hour));
  tracker.add("issues", 2, ago(50 * 60_000));
  tracker.add("issues", 3, ago(10 * hour), {
    state: "closed",
    closed_at: ago(40 * 60_000),
    updated_at: ago(40 * 60_000),
    closed_by: { username: "bob" },
  });
  tracker.add("issues", 4, ago(10 * hour), { updated_at: ago(30 * 60_000) });
  tracker.add("merge_requests", 1, ago(10 * hour), {
    state: "merged",
    merged_at: ago(20 * 60_000),
    updated_at: ago(20 * 60_000),
    merge_user: { username: "eve" },
  });
  tracker.add("issues", 5, ago(10 * hour), { updated_at: ago(10 * 60_000), user_notes_count: 1 });
  tracker.note("issues/5", "Me too.", ago(10 * 60_000), "ann");
  const first = await poll(null);
  expect(first.told).toEqual([
    "Issue Hook/open 2",
    "Issue Hook/close 3",
    "Issue Hook/update 4",
    "Merge Request Hook/merge !1",
    "Note Hook/create 5",
  ]);
  expect(first.events.map((event) => event.actor)).toEqual(["ann", "bob", null, "eve", "ann"]);
  for (const event of first.events) expect(event).toMatchObject({ lacks: null, delivery_id: `poll:${event.change_key}` });
  // The last minute of each list is read again; the host knows these by their key.
  const keys = new Set(first.events.map((event) => event.change_key));
  const again = await poll(first.cursor);
  expect(again.told.length).toBeLessThan(3);
  for (const event of again.events) expect(keys).toContain(event.change_key);
  tracker.add("issues", 6, new Date().toISOString());
  expect((await poll(first.cursor)).told).toContain("Issue Hook/open 6");
});

test("the webhook and the poll of one change have one key", async () => {
  const { poll, source } = await bench();
  const item = tracker.add("issues", 2, ago(60_000));
  const attributes = { iid: 2, action: "open", created_at: item.created_at as string, updated_at: item.updated_at };
  const webhook = await source.parse({
    headers: { "x-gitlab-event": "Issue Hook" },
    payload: { object_attributes: attributes, project: { path_with_namespace: project } },
  });
  expect((await poll(null)).events[0]?.change_key).toBe(webhook.change_key);
});

test("more than a page is read to its end, over many polls where it must", async () => {
  const { poll } = await bench();
  for (let count = 1; count <= 450; count++)
    tracker.add("issues", count, new Date(Date.now() - 50 * 60_000 + count * 1000).toISOString());
  const seen = new Set<string>();
  let cursor: string | null = null;
  for (let round = 0; round < 4; round++) {
    const polled = await poll(cursor);
    for (const one of polled.told) seen.add(one);
    cursor = polled.cursor;
  }
  expect(seen.size).toBe(450);
});

test("an edit of ours is left out", async () => {
  const { poll, tools, connection } = await bench();
  tracker.add("issues", 7, ago(10 * hour));
  await tools?.update_description?.run({ issue: "7", project, description: "x" }, callOf(connection));
  expect((await poll(null)).told).toEqual([]);
});

test("a strange project is refused, a strange cursor starts again", async () => {
  const { poll, source, connection } = await bench();
  tracker.add("issues", 2, ago(60_000));
  expect((await poll("not a cursor")).told).toEqual(["Issue Hook/open 2"]);
  await expect(source.poll?.({ project: "../x", since: ago(1), cursor: null }, callOf(connection))).rejects.toMatchObject({
    code: "invalid_input",
  });
});
