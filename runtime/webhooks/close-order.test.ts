import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database, Sql } from "../platform/database/client.ts";
import { type TestDatabase, testDatabase, testServer } from "../platform/database/test-database.ts";
import { newId } from "../platform/ids.ts";
import type { Arrival } from "./arrival.ts";
import { insertArrivals } from "./queries.ts";
import { storeTogether } from "./store-together.ts";
import { openedEvent } from "./test-event.ts";

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

const limits = { replayHours: 0, loops: { windowSeconds: 0, cooldownSeconds: 0 } };
const warnings: string[] = [];
const log = { warn: (message: string) => void warnings.push(message) };
const subjectOf = (issue: number) => `alpha:octo/app#${issue}`;
const close = (issue: number, slug = "alpha"): Arrival => ({
  event: openedEvent({ slug, subject: subjectOf(issue), action: "closed", occurred_at: "2026-01-02T00:00:00Z" }),
  project: "octo/app",
  issue: String(issue),
  content: "",
  closes: true,
  executions: [],
});
const edit = (issue: number, slug = "alpha"): Arrival => ({
  event: openedEvent({ slug, subject: subjectOf(issue), action: "edited", snapshot: true, occurred_at: "2026-01-01T00:00:00Z" }),
  project: "octo/app",
  issue: String(issue),
  content: "Text",
  executions: [{ id: newId(), task_id: "first", canonical_trigger: "issue.updated", max_hops: 0, loop_reason: null }],
});
let changes = 0;
const withKey = (one: Arrival): Arrival => ({ ...one, event: { ...one.event, change_key: `change-${++changes}` } });
const stateOf = async ({ executions: [execution] }: Arrival) => {
  const [row] = await first.sql<{ state: string }[]>`select state from task_executions where id = ${execution?.id ?? null}`;
  return row?.state;
};
/** Stores a close while the transaction that stores an edit of its issue is not committed yet. */
async function storeBeside(edited: Arrival, closed: Arrival, sql: Sql = second.sql) {
  let stored = Promise.resolve<Awaited<ReturnType<typeof storeTogether>>>(new Map());
  let isStored = false;
  const waiting = () => first.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await first.sql.begin(async (tx) => {
    await insertArrivals(tx, [edited]);
    stored = storeTogether(sql, [closed], limits, log).finally(() => {
      isStored = true;
    });
    await expect.poll(async () => isStored || (await waiting()).length > 0).toBe(true);
  });
  return stored;
}

test("a close waits for an uncommitted edit of its issue, then cancels what it started", { tags: ["postgres"] }, async () => {
  const [edited, closed] = [edit(1), close(1)];
  const stored = await storeBeside(edited, closed);
  expect(stored.get(closed)).toMatchObject({ cancelled: [edited.executions[0]?.id] });
  expect(await stateOf(edited)).toBe("cancelled");
});

const polled = (one: Arrival): Arrival => ({ ...one, event: { ...one.event, polled: true } });

test.each([
  ["a polled close waits for an uncommitted edit by a webhook", close, edit, 5],
  ["a polled close waits for an edit by the webhook of an integration", close, (issue: number) => edit(issue, "other"), 6],
] as const)("%s, then cancels what it started", { tags: ["postgres"] }, async (_, closeOf, editOf, issue) => {
  const [edited, later, closed] = [editOf(issue), edit(issue), polled(closeOf(issue))];
  const stored = await storeBeside(edited, closed);
  expect(stored.get(closed)).toMatchObject({ cancelled: [edited.executions[0]?.id] });
  expect(await stateOf(edited)).toBe("cancelled");
  await insertArrivals(first.sql, [later]);
  expect(await stateOf(later)).toBe("queued");
});

test("a polled close cancels nothing that the same poll reports after it", { tags: ["postgres"] }, async () => {
  const comment = edit(11);
  const laterComment = { ...comment, event: { ...comment.event, action: "created", snapshot: false } };
  const reopened = withKey(polled(edit(11)));
  const [opened, closed] = [edit(11), polled(close(11))];
  await storeTogether(first.sql, [opened], limits, log);
  const stored = await storeTogether(first.sql, [closed, withKey(polled(laterComment)), reopened], limits, log);
  expect(stored.get(closed)).toMatchObject({ cancelled: [opened.executions[0]?.id] });
  expect([await stateOf(opened), await stateOf(laterComment), await stateOf(reopened)]).toEqual([
    "cancelled",
    "queued",
    "queued",
  ]);
});

/** A client whose first transactions fail with a deadlock. */
const deadlocking = (sql: Sql, failures: number) =>
  new Proxy(sql, {
    get: (target, name) =>
      name === "begin" && failures-- > 0
        ? () => target`do $$ begin raise exception 'deadlock' using errcode = '40P01'; end $$`
        : Reflect.get(target, name),
  });

test.each([
  ["its search for edits that it missed is repeated after a deadlock", 4, "cancelled", []],
  [
    "it is stored if its search for edits that it missed fails",
    9,
    "queued",
    ["failed to cancel the executions of edits that were stored at the same moment as a polled close"],
  ],
] as const)("a polled close: %s", { tags: ["postgres"] }, async (_, failures, state, warned) => {
  warnings.length = 0;
  const [edited, closed] = [edit(12 + failures), polled(close(12 + failures))];
  const stored = await storeBeside(edited, closed, deadlocking(second.sql, failures));
  expect(stored.get(closed)).toMatchObject({ id: closed.event.id });
  expect(await stateOf(edited)).toBe(state);
  expect(warnings).toEqual(warned);
});

test.each([["alpha"], ["other"]])(
  "a close by the webhook %s waits for an uncommitted poll, then cancels what it started",
  {
    tags: ["postgres"],
  },
  async (slug) => {
    const issue = slug === "alpha" ? 7 : 8;
    const [edited, closed] = [withKey(polled(edit(issue))), withKey(close(issue, slug))];
    const stored = await storeBeside(edited, closed);
    expect(stored.get(closed)).toMatchObject({ cancelled: [edited.executions[0]?.id] });
  },
);

test("closes and edits by polls and webhooks do not deadlock", { tags: ["postgres"], timeout: 60_000 }, async () => {
  const rounds = Array.from({ length: 80 }, (_, n) => {
    const pair = n % 2 ? [close(9), edit(10)] : [edit(9), close(10)];
    const arrivals = (n % 4 < 2 ? pair : pair.map(polled)).map(withKey);
    return storeTogether((n % 3 ? first : second).sql, arrivals, limits, log);
  });
  expect((await Promise.all(rounds)).reduce((sum, stored) => sum + stored.size, 0)).toBe(160);
});

test("closes and edits of several issues by two webhooks do not deadlock", { tags: ["postgres"], timeout: 60_000 }, async () => {
  const rounds = Array.from({ length: 60 }, (_, n) => {
    const arrivals = n % 2 ? [close(3), edit(4, "other")] : [close(4), edit(3, "other")];
    return storeTogether((n % 3 ? first : second).sql, n % 5 ? arrivals : [edit(4), edit(3, "other")], limits, log);
  });
  expect((await Promise.all(rounds)).reduce((sum, stored) => sum + stored.size, 0)).toBe(120);
});
