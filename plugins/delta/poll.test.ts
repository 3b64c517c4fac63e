import { randomUUID } from "node:crypto";
import { callOf, setUp } from "@signalbox/sdk/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import delta from "./index.ts";
import { type DeltaTracker, people, project, startTracker, states, workspace } from "./test-tracker.ts";

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const hour = 3_600_000;
let tracker: DeltaTracker;
beforeEach(async () => {
  tracker = await startTracker();
});
afterEach(() => tracker.close());

async function bench() {
  const source = (await setUp(delta)).sources?.delta;
  if (!source?.poll) throw new Error("delta has no poll");
  const connection = source.connection.parse({ api_url: tracker.url, api_key: "test-key-1", workspace_slug: workspace });
  const poll = async (cursor: string | null, of = project) => {
    const polled = await source.poll?.({ project: of, since: ago(hour), cursor }, callOf(connection));
    if (!polled) throw new Error("no answer");
    const events = await Promise.all(polled.events.map((event) => source.parse(event)));
    return { events, cursor: polled.cursor, told: events.map(({ event_name, subject }) => `${event_name} ${subject?.issue}`) };
  };
  return { source, poll };
}

test("what was made and changed, by whom, in order, with the names of states", async () => {
  const { poll } = await bench();
  tracker.addIssue("old", ago(10 * hour));
  tracker.addIssue("made", ago(50 * 60_000));
  tracker.addIssue("moved", ago(10 * hour), { updated_at: ago(30 * 60_000), state: states.doing, updated_by: people.bot });
  const first = await poll(null);
  expect(first.told).toEqual(["issue.created made", "issue.updated moved"]);
  expect(first.events.map((event) => event.actor)).toEqual([people.ann, people.bot]);
  expect(first.events[1]?.text).toContain("- State: doing");
  for (const event of first.events) expect(event).toMatchObject({ lacks: null, delivery_id: `poll:${event.change_key}` });
  expect((await poll(first.cursor)).told).not.toContain("issue.created made");
  tracker.addIssue("later", new Date().toISOString());
  expect((await poll(first.cursor)).told).toContain("issue.created later");
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

test("more than one poll holds is read over several, though the list moves meanwhile", async () => {
  const { poll } = await bench();
  for (let count = 1; count <= 2500; count++)
    tracker.addIssue(`i-${count}`, new Date(Date.now() - 3_000_000 + count * 1000).toISOString());
  const first = await poll(null);
  const row = tracker.issues[100];
  if (row) row.updated_at = new Date().toISOString();
  const second = await poll(first.cursor);
  const third = await poll(second.cursor);
  const seen = new Set([...first.told, ...second.told, ...third.told].map((one) => one.split(" ")[1]));
  expect(seen.size).toBe(2500);
}, 30_000);

test("a strange project is refused, a strange cursor starts again", async () => {
  const { poll } = await bench();
  tracker.addIssue("made", ago(60_000));
  expect((await poll("not a cursor")).told).toEqual(["issue.created made"]);
  await expect(poll(null, "../x")).rejects.toMatchObject({ code: "invalid_input" });
});
