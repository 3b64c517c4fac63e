import { randomUUID } from "node:crypto";
import { joinedText } from "@signalbox/sdk";
import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, beforeEach, expect, test } from "vitest";
import delta from "./index.ts";
import { settings } from "./settings.ts";
import { DeltaTracker, people, project, states, workspace } from "./test-tracker.ts";

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const hour = 3_600_000;
/** Calls the poll as the host does. */
const deadline_ms = 300_000;
let tracker: DeltaTracker;
beforeEach(async () => {
  tracker = new DeltaTracker().intercept("http://delta.test", { http, setupServer });
});
afterEach(() => tracker.close());

const connection = () => settings.parse({ api_url: tracker.url, api_key: "test-key-1", workspace_slug: workspace });

async function bench() {
  const source = (await setUpPlugin(delta)).sources?.delta;
  if (!source?.poll) throw new Error("delta has no poll");
  const poll = async (cursor: string | null, of = project) => {
    const polled = await source.poll?.({ project: of, since: ago(hour), cursor }, callContext(connection(), { deadline_ms }));
    if (!polled) throw new Error("no answer");
    const events = await Promise.all(polled.events.map((event) => source.parse(event)));
    return { events, cursor: polled.cursor, names: events.map(({ event_name, subject }) => `${event_name} ${subject?.issue}`) };
  };
  return { source, poll };
}

test("reports what was created and changed, with actors and state names, in order", async () => {
  const { poll } = await bench();
  tracker.addIssue("old", ago(10 * hour));
  tracker.addIssue("made", ago(50 * 60_000));
  tracker.addIssue("moved", ago(10 * hour), { updated_at: ago(30 * 60_000), state: states.doing, updated_by: people.bot });
  const first = await poll(null);
  expect(first.names).toEqual(["issue.created made", "issue.updated moved"]);
  expect(first.events.map((event) => event.actor)).toEqual([people.ann, people.bot]);
  expect(joinedText(first.events[1]?.text ?? "")).toContain("- State: doing");
  for (const event of first.events) expect(event).toMatchObject({ missing_field: null, delivery_id: `poll:${event.change_key}` });
  expect((await poll(first.cursor)).names).not.toContain("issue.created made");
  tracker.addIssue("later", new Date().toISOString());
  expect((await poll(first.cursor)).names).toContain("issue.created later");
});

test("the webhook and the poll of one change have one key", async () => {
  const { poll, source } = await bench();
  const row = tracker.addIssue(randomUUID(), ago(10 * hour), { updated_at: ago(60_000) });
  const webhook = await source.parse({
    headers: {},
    payload: JSON.parse(JSON.stringify({ event: "issue", action: "updated", data: row })),
  });
  expect((await poll(null)).events.map((event) => event.change_key)).toEqual([webhook.change_key]);
});

test("changes that one poll cannot read are read by the next ones, although the list moves meanwhile", async () => {
  const { poll } = await bench();
  for (let count = 1; count <= 2100; count++)
    tracker.addIssue(`i-${count}`, new Date(Date.now() - 3_000_000 + count * 1000).toISOString());
  const first = await poll(null);
  const row = tracker.issues[100];
  if (row) row.updated_at = new Date().toISOString();
  const names = [...first.names];
  for (let { cursor } = first, polls = 0; polls < 5; polls++) {
    const next = await poll(cursor);
    names.push(...next.names);
    cursor = next.cursor;
  }
  const seen = new Set(names.map((one) => one.split(" ")[1]));
  expect(seen.size).toBe(2100);
}, 60_000);

test("comments are reported once with their authors, and not as updates", async () => {
  const { poll } = await bench();
  tracker.addIssue("old", ago(10 * hour));
  tracker.note("old", { comment_html: "<p>Before</p>" }, people.ann, ago(5 * hour));
  const first = await poll(null);
  expect(first.names).toEqual([]);
  tracker.note("old", { comment_html: "<p>Any <em>news</em>?</p>" }, people.ann, ago(1000));
  tracker.note("old", { comment_html: "<p>Mine</p>", external_source: "signalbox", external_id: "k" }, people.bot);
  const second = await poll(first.cursor);
  expect(second.names).toEqual(["issue.activity.created old", "issue.activity.created old"]);
  expect(second.events.map(({ actor, marked }) => [actor, marked])).toEqual([
    [people.ann, false],
    [people.bot, true],
  ]);
  expect(joinedText(second.events[0]?.text ?? "")).toContain("Any *news*?");
  for (const event of second.events)
    expect(event).toMatchObject({ missing_field: null, delivery_id: `poll:${event.change_key}` });
  // Read again because of the overlap; the host recognises them by their keys.
  const third = await poll(second.cursor);
  expect(new Set(third.events.map((event) => event.change_key))).toEqual(new Set(second.events.map((event) => event.change_key)));
});

test("a comment that moves its issue's updated_at late is still reported; one from before the start is not", async () => {
  const { poll } = await bench();
  tracker.addIssue("old", ago(10 * hour));
  tracker.addIssue("other", ago(10 * hour), { updated_at: ago(60_000) });
  const first = await poll(null);
  expect(first.names).toEqual(["issue.updated other"]);
  tracker.note("old", { comment_html: "<p>Before</p>" }, people.ann, ago(hour + 60_000));
  tracker.note("old", { comment_html: "<p>Late</p>" }, people.ann, ago(5 * 60_000));
  tracker.change("old", "comment", "", "", people.ann, ago(1000));
  const second = await poll(first.cursor);
  expect(second.names).toEqual(["issue.activity.created old"]);
  expect(joinedText(second.events[0]?.text ?? "")).toContain("Late");
});

test("details that were read are not requested again while the issue is unchanged", async () => {
  const { poll } = await bench();
  tracker.addIssue("old", ago(10 * hour), { updated_at: ago(30_000) });
  const first = await poll(null);
  expect(first.names).toEqual(["issue.updated old"]);
  const asked = () => tracker.requests.filter(({ path }) => path.endsWith("/old/comments/")).length;
  const second = await poll(first.cursor);
  expect([second.names, asked()]).toEqual([[], 1]);
  tracker.note("old", { comment_html: "<p>Now</p>" });
  expect([(await poll(second.cursor)).names, asked()]).toEqual([["issue.activity.created old"], 2]);
});

test("a move is reported once with both states, in the member that mappings read", async () => {
  const { poll, source } = await bench();
  tracker.addIssue("old", ago(10 * hour));
  tracker.change("old", "state", "todo", "doing", people.ann, ago(1000));
  tracker.change("old", "name", "Old", "New", people.bot, ago(500));
  const raw = await source.poll?.({ project, since: ago(hour), cursor: null }, callContext(connection()));
  expect(raw?.events.map(({ payload }) => payload)).toMatchObject([
    {
      event: "issue",
      action: "updated",
      data: { id: "old", state: { name: "doing" }, changes: { state: { old: "todo", new: "doing" } } },
      activity: { field: "state", old_value: "todo", new_value: "doing", actor: { id: people.ann } },
    },
  ]);
  tracker.change("old", "priority", "high", "low");
  const second = await source.poll?.({ project, since: ago(hour), cursor: raw?.cursor ?? null }, callContext(connection()));
  expect(second?.events.map(({ payload }) => payload)).toMatchObject([{ activity: { field: "priority", new_value: "low" } }]);
  expect(JSON.stringify(second?.events)).not.toContain("changes");
  expect(joinedText((await poll(raw?.cursor ?? null)).events[0]?.text ?? "")).toContain("- priority: high → low");
});

test("servers without activities report updates too", async () => {
  const { poll } = await bench();
  tracker.tellsActivities = false;
  tracker.addIssue("old", ago(10 * hour), { updated_at: ago(1000) });
  expect((await poll(null)).names).toEqual(["issue.updated old"]);
});

test("what one poll cannot read is read by the next ones, including comments", async () => {
  const { poll } = await bench();
  for (let count = 1; count <= 1100; count++) {
    tracker.addIssue(`i-${count}`, new Date(Date.now() - 3_000_000 + count * 1000).toISOString());
    tracker.note(`i-${count}`, { comment_html: `<p>c-${count}</p>` }, people.ann, ago(60_000));
  }
  let cursor: string | null = null;
  const seen = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const polled: Awaited<ReturnType<typeof poll>> = await poll(cursor);
    cursor = polled.cursor;
    for (const event of polled.events) seen.add(String(event.change_key).replace(/comment\/.*/, "comment"));
  }
  expect([...seen].filter((key) => key.endsWith("/created"))).toHaveLength(1100);
  expect([...seen].filter((key) => key.endsWith("/comment"))).toHaveLength(1100);
  expect(JSON.parse(cursor ?? "").rest).toEqual([]);
}, 60_000);

test("the project may be given by its name; an unknown one is refused, and an invalid cursor restarts the poll", async () => {
  const { poll } = await bench();
  tracker.addIssue("made", ago(60_000));
  expect((await poll("not a cursor")).names).toEqual(["issue.created made"]);
  expect((await poll(null, "The app")).names).toEqual(["issue.created made"]);
  await expect(poll(null, "../x")).rejects.toMatchObject({ code: "not_found", message: expect.stringContaining("available: ") });
});
