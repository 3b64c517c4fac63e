import { joinedText } from "@signalbox/sdk";
import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, beforeEach, expect, test } from "vitest";
import beta from "./index.ts";
import { BetaTracker } from "./test-tracker.ts";

const project = "octo/team/app";
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const hour = 3_600_000;
/** Calls the poll as the host does. */
const deadline_ms = 300_000;
let tracker: BetaTracker;
beforeEach(async () => {
  tracker = new BetaTracker().intercept("http://beta.test", { http, setupServer });
});
afterEach(() => tracker.close());

async function bench() {
  const { sources } = await setUpPlugin(beta);
  const source = sources?.beta;
  if (!source?.poll) throw new Error("beta has no poll");
  const connection = source.connection.parse({ token: "test-token-1", url: tracker.url });
  const poll = async (cursor: string | null, since = ago(hour), named = project) => {
    const polled = await source.poll?.({ project: named, since, cursor }, callContext(connection, { deadline_ms }));
    if (!polled) throw new Error("no answer");
    const events = await Promise.all(polled.events.map((event) => source.parse(event)));
    return {
      events,
      payloads: polled.events.map(({ payload }) => payload),
      cursor: polled.cursor,
      names: events.map(({ event_name, action, subject }) => `${event_name}/${action} ${subject?.issue}`),
    };
  };
  return { source, connection, poll };
}

test("reports what was opened, closed, merged, changed and written, in order and once", async () => {
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
  expect(first.names).toEqual([
    "Issue Hook/open 2",
    "Issue Hook/close 3",
    "Issue Hook/update 4",
    "Merge Request Hook/merge !1",
    "Note Hook/create 5",
  ]);
  expect(first.events.map((event) => event.actor)).toEqual(["ann", "bob", null, "eve", "ann"]);
  for (const event of first.events) expect(event).toMatchObject({ missing_field: null, delivery_id: `poll:${event.change_key}` });
  // The last minute of each list is read again; the host recognises these by their key.
  const keys = new Set(first.events.map((event) => event.change_key));
  const again = await poll(first.cursor);
  expect(again.names.length).toBeLessThan(3);
  for (const event of again.events) expect(keys).toContain(event.change_key);
  tracker.add("issues", 6, new Date().toISOString());
  expect((await poll(first.cursor)).names).toContain("Issue Hook/open 6");
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
  tracker.relabel("issues/2", { add: ["urgent"] }, ago(30_000));
  const update = { ...attributes, action: "update", updated_at: item.updated_at.replace("T", " ").replace(/\.\d+Z/, " UTC") };
  const labeled = await source.parse({
    headers: { "x-gitlab-event": "Issue Hook" },
    payload: { object_attributes: update, project: { path_with_namespace: project } },
  });
  expect(labeled.change_key).toMatch(/changed@/);
  expect((await poll(null)).events[1]?.change_key).toBe(labeled.change_key);
});

test("names the project as the platform spells it", async () => {
  const { poll } = await bench();
  tracker.add("issues", 2, ago(60_000), { references: { full: "octo/team/app#2" } });
  const { events } = await poll(null, undefined, "Octo/Team/APP");
  expect(events.map(({ subject }) => subject)).toEqual([{ project, issue: "2" }]);
});

const labels = (...names: string[]) => names.map((title) => ({ title }));

test("reports each edit of labels with its actor and the labels before and after, but not the labels an item was created with", async () => {
  const { poll } = await bench();
  tracker.add("issues", 1, ago(50 * 60_000), { labels: [] });
  tracker.relabel("issues/1", { add: ["bug"] }, ago(50 * 60_000 - 300));
  tracker.relabel("issues/1", { add: ["In Progress", "backend"], remove: ["bug"] }, ago(40 * 60_000), "bob");
  tracker.relabel("issues/1", { remove: ["backend"] }, ago(30 * 60_000), "eve");
  tracker.add("merge_requests", 1, ago(10 * hour));
  tracker.relabel("merge_requests/1", { add: ["old"] }, ago(9 * hour));
  tracker.relabel("merge_requests/1", { add: ["ready"] }, ago(20 * 60_000));
  const { names, events, payloads, cursor } = await poll(null);
  expect(names).toEqual(["Issue Hook/open 1", "Issue Hook/update 1", "Issue Hook/update 1", "Merge Request Hook/update !1"]);
  expect(events.map(({ actor }) => actor)).toEqual(["ann", "bob", "eve", "ann"]);
  expect(payloads.slice(1)).toMatchObject([
    { changes: { labels: { previous: labels("bug"), current: labels("In Progress", "backend") } } },
    {
      changes: { labels: { previous: labels("In Progress", "backend"), current: labels("In Progress") } },
      labels: labels("In Progress"),
    },
    { changes: { labels: { previous: labels("bug", "old"), current: labels("bug", "old", "ready") } } },
  ]);
  expect(new Set(events.map(({ change_key }) => change_key)).size).toBe(4);
  expect(joinedText(events[1]?.text ?? "")).toContain("## Changes");
  // Removed again, later than the list shows: the platform moves an item's `updated_at` once a minute at most.
  tracker.relabel("issues/1", { remove: ["In Progress"] }, new Date().toISOString(), "bob");
  const item = tracker.items.find(({ of }) => of === "issues/1");
  if (item) item.updated_at = ago(40_000);
  expect((await poll(cursor)).payloads.at(-1)).toMatchObject({
    changes: { labels: { previous: labels("In Progress"), current: [] } },
  });
});

test("confidential events have the hook names that the platform uses", async () => {
  const { poll } = await bench();
  tracker.add("issues", 1, ago(30 * 60_000), { confidential: true, user_notes_count: 1 });
  tracker.note("issues/1", "Among us.", ago(25 * 60_000), "ann");
  tracker.relabel("issues/1", { add: ["urgent"] }, ago(20 * 60_000));
  tracker.add("issues", 2, ago(10 * hour), { updated_at: ago(10 * 60_000), user_notes_count: 2 });
  tracker.note("issues/2", "To all.", ago(15 * 60_000), "ann");
  Object.assign(tracker.note("issues/2", "To members.", ago(10 * 60_000), "ann"), { internal: true });
  const { names, events, payloads } = await poll(null);
  expect(names).toEqual([
    "Confidential Issue Hook/open 1",
    "Confidential Note Hook/create 1",
    "Confidential Issue Hook/update 1",
    "Note Hook/create 2",
    "Confidential Note Hook/create 2",
  ]);
  expect(payloads[0]).toMatchObject({ object_kind: "issue", event_type: "confidential_issue" });
  for (const event of events) expect(event).toMatchObject({ missing_field: null, delivery_id: `poll:${event.change_key}` });
});

test("a change beside a note is reported too, unless the note explains it", async () => {
  const { poll } = await bench();
  tracker.add("issues", 1, ago(10 * hour), { updated_at: ago(20 * 60_000), user_notes_count: 1 });
  tracker.note("issues/1", "Me too.", ago(20 * 60_000 + 500), "ann");
  tracker.add("issues", 2, ago(10 * hour), { updated_at: ago(10 * 60_000), user_notes_count: 1 });
  tracker.note("issues/2", "Me too.", ago(15 * 60_000), "ann");
  expect((await poll(null)).names).toEqual(["Note Hook/create 1", "Note Hook/create 2", "Issue Hook/update 2"]);
});

test("an item that is deleted between the list and its notes does not stop the poll", async () => {
  const { poll } = await bench();
  tracker.add("issues", 1, ago(10 * hour), { updated_at: ago(20 * 60_000), user_notes_count: 1 });
  tracker.add("issues", 2, ago(20 * 60_000));
  tracker.fault({ kind: "status", status: 404, path: /\/issues\/1\// });
  expect((await poll(null)).names).toContain("Issue Hook/open 2");
});

test("what one poll cannot read is read by the next ones, including notes", async () => {
  const { poll } = await bench();
  for (let count = 1; count <= 400; count++) {
    const time = count <= 200 ? ago(50 * 60_000) : ago(40 * 60_000 - count * 1000);
    tracker.add("issues", count, ago(10 * hour), { updated_at: time, user_notes_count: 1 });
    tracker.note(`issues/${count}`, "Me too.", time, "ann");
  }
  const seen: string[] = [];
  let cursor: string | null = null;
  for (let round = 0; round < 3; round++) {
    const polled = await poll(cursor);
    seen.push(...polled.names);
    cursor = polled.cursor;
  }
  expect(new Set(seen).size).toBe(400);
  // Only notes within the overlap come twice, and no event has an unknown actor.
  expect(seen.every((one) => one.startsWith("Note Hook/create "))).toBe(true);
  expect(cursor?.length).toBeLessThan(1000);
});

test("a list longer than a page is read completely, over several polls if needed", async () => {
  const { poll } = await bench();
  for (let count = 1; count <= 450; count++)
    tracker.add("issues", count, new Date(Date.now() - 50 * 60_000 + count * 1000).toISOString());
  const seen = new Set<string>();
  let cursor: string | null = null;
  for (let round = 0; round < 4; round++) {
    const polled = await poll(cursor);
    for (const one of polled.names) seen.add(one);
    cursor = polled.cursor;
  }
  expect(seen.size).toBe(450);
});

test("an invalid project is refused, an invalid cursor restarts the poll", async () => {
  const { poll, source, connection } = await bench();
  tracker.add("issues", 2, ago(60_000));
  expect((await poll("not a cursor")).names).toEqual(["Issue Hook/open 2"]);
  await expect(source.poll?.({ project: "../x", since: ago(1), cursor: null }, callContext(connection))).rejects.toMatchObject({
    code: "invalid_input",
  });
});
