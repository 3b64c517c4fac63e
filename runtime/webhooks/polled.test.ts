import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../platform/database/client.ts";
import { type TestDatabase, testDatabase, testServer } from "../platform/database/test-database.ts";
import type { Arrival } from "./arrival.ts";
import { findEarlier, insertArrivals } from "./queries.ts";
import { openedEvent } from "./test-event.ts";

let deliveries = 0;
const arrival = (change_key: string, polled: boolean, slug = "alpha"): Arrival => ({
  event: openedEvent({
    slug,
    delivery_id: `d${++deliveries}`,
    change_key,
    polled,
    canonical_triggers: [],
    outcome: "discarded",
    reason: "test",
  }),
  project: null,
  issue: null,
  content: "",
  executions: [],
});

/** Two replicas. */
let first: Database;
let second: Database;
let own: TestDatabase | null = null;
beforeAll(async () => {
  if (!testServer) return;
  own = await testDatabase(testServer, { replicas: 2, max: 4 });
  [first, second] = own.pools as [Database, Database];
}, 60_000);
afterAll(() => own?.drop());

test("a poll and a webhook of one change store exactly one event, however they race", {
  tags: ["postgres"],
  timeout: 60_000,
}, async () => {
  const winners = { webhook: 0, poll: 0 };
  for (let round = 0; round < 150; round++) {
    const [webhook, poll] = [arrival(`race/${round}`, false), arrival(`race/${round}`, true)];
    const store = (database: Database, one: Arrival) => insertArrivals(database.sql, [one]);
    const stored = await Promise.all(
      round % 2 ? [store(first, webhook), store(second, poll)] : [store(second, poll), store(first, webhook)],
    );
    const ids = stored.flatMap((events) => [...events.keys()]);
    expect(ids).toHaveLength(1);
    winners[ids[0] === poll.event.id ? "poll" : "webhook"]++;
    const loser = ids[0] === poll.event.id ? webhook : poll;
    expect(await findEarlier(first.sql, loser.event)).toBe(ids[0]);
  }
  expect(Math.min(winners.webhook, winners.poll)).toBeGreaterThan(0);
});

test("the webhook of a change waits for an uncommitted poll of it, then is a duplicate", {
  tags: ["postgres"],
}, async () => {
  const [poll, webhook] = [arrival("held", true), arrival("held", false)];
  let stored: ReturnType<typeof insertArrivals> | undefined;
  let done = false;
  await first.sql.begin(async (sql) => {
    expect((await insertArrivals(sql, [poll])).size).toBe(1);
    stored = insertArrivals(second.sql, [webhook]).finally(() => {
      done = true;
    });
    await new Promise((go) => setTimeout(go, 200));
    expect(done).toBe(false);
    expect((await insertArrivals(second.sql, [arrival("other", false, "beta")])).size).toBe(1);
  });
  expect((await stored)?.size).toBe(0);
});

test("two polls of one change are one event, two webhooks of one change are two", { tags: ["postgres"] }, async () => {
  const polls = await Promise.all([first, second].map(({ sql }) => insertArrivals(sql, [arrival("same", true)])));
  expect(polls.map((set) => set.size).sort()).toEqual([0, 1]);
  expect((await insertArrivals(first.sql, [arrival("twice", true), arrival("twice", true)])).size).toBe(1);
  expect((await insertArrivals(first.sql, [arrival("labels", false), arrival("labels", false)])).size).toBe(2);
});

test("batches of several slugs do not deadlock", { tags: ["postgres"], timeout: 60_000 }, async () => {
  const both = (n: number) => [arrival(`ring/${n}`, n % 2 === 0, "beta"), arrival(`ring/${n}`, n % 2 === 1, "alpha")];
  const rounds = Array.from({ length: 100 }, (_, n) =>
    insertArrivals((n % 3 ? first : second).sql, n % 5 ? both(n) : both(n).reverse()),
  );
  expect((await Promise.all(rounds)).reduce((sum, set) => sum + set.size, 0)).toBe(200);
});
