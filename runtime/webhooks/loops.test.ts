import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ownWrite } from "../own-writes/own-write.ts";
import { forgetWrites, insertWrites } from "../own-writes/queries.ts";
import type { Database } from "../platform/database/client.ts";
import { type TestDatabase, testDatabase, testServer } from "../platform/database/test-database.ts";
import { newId } from "../platform/ids.ts";
import type { Arrival } from "./arrival.ts";
import { type ArrivalLimits, findEarlier, insertArrivals } from "./queries.ts";
import { openedEvent } from "./test-event.ts";

let first: Database;
let second: Database;
let own: TestDatabase | null = null;
let subject = "";
let issues = 0;
beforeAll(async () => {
  if (!testServer) return;
  own = await testDatabase(testServer, { replicas: 2, max: 4 });
  [first, second] = own.pools as [Database, Database];
}, 60_000);
afterAll(() => own?.drop());
beforeEach(() => {
  subject = `alpha:octo/app#${++issues}`;
});

const limits: ArrivalLimits = { replayHours: 0, loops: { windowSeconds: 50, cooldownSeconds: 600 } };
const tags = ["postgres" as const];

const arrival = (more: Partial<Arrival> = {}, event: Partial<Arrival["event"]> = {}): Arrival => ({
  event: openedEvent({
    event_name: "issue_comment",
    action: "created",
    actor: "mona",
    subject,
    canonical_triggers: [],
    ...event,
  }),
  project: "octo/app",
  issue: "1",
  content: "",
  executions: [{ id: newId(), task_id: "t", canonical_trigger: "x.y", max_hops: 3, loop_reason: "{hops} in a row" }],
  ...more,
});
const write = async (more: { key?: string; ref?: string; kind?: "comment" | "edit"; texts?: string[] } = {}) => {
  const step = { id: newId(), key: more.key ?? newId(), name: "alpha" };
  const made = ownWrite(step, { execution_id: newId(), subject, kind: more.kind ?? "comment" }, more.texts ?? ["an answer"]);
  const store = (ref: string | null) => first.sql`${insertWrites(first.sql, [{ ...made, ref }])}`;
  await store(null);
  if (more.ref) await store(more.ref);
  return made;
};
const heldOf = async (one: Arrival, database = first) =>
  [...(await insertArrivals(database.sql, [one], limits)).values()].map(({ held }) => held)[0];

test("a hop needs a new write, the fourth is held, quiet resets the count, and replicas share it", {
  tags,
}, async () => {
  const answers: (number | undefined)[] = [await heldOf(arrival())];
  for (let hop = 0; hop < 5; hop++) {
    await write();
    answers.push(await heldOf(arrival(), hop % 2 ? first : second));
  }
  expect(answers).toEqual([0, 0, 0, 0, 1, 1]);
  // Without a new write, the count remains, and so does the hold.
  expect(await heldOf(arrival())).toBe(1);
  const held = await first.sql<{ state: string; held_reason: string; hop: number; seconds: number; answers: string | null }[]>`
    select state, held_reason, hop, answers, extract(epoch from held_until - now())::float8 as seconds from task_executions
    where subject = ${subject} and state = 'held' order by created_at limit 1`;
  expect(held[0]).toMatchObject({ held_reason: "4 in a row", hop: 4, answers: expect.stringMatching(/-/) });
  expect(Math.abs((held[0]?.seconds ?? 0) - 600)).toBeLessThan(30);
  await first.sql`update subject_hops set event_at = now() - interval '1 minute' where subject = ${subject}`;
  await first.sql`update own_writes set at = now() - interval '1 minute', done_at = null where subject = ${subject}`;
  expect(await heldOf(arrival())).toBe(0);
  await write();
  expect(await heldOf(arrival())).toBe(0);
});

test("an event that arrives late is a hop if it happened soon after a write, and explains which", { tags }, async () => {
  const late = (seconds: number) => arrival({}, { occurred_at: new Date(Date.now() - seconds * 1000).toISOString() });
  const minutesAgo = (minutes: number) => first.sql`
    update own_writes set at = at - make_interval(mins => ${minutes}), done_at = done_at - make_interval(mins => ${minutes})
    where subject = ${subject}`;
  const counts: (number | undefined)[] = [];
  for (let hop = 0; hop < 4; hop++) {
    // The event before it happened ten minutes before the write that this one answers, and arrived five minutes late.
    await first.sql`update subject_hops set event_at = event_at - interval '20 minutes' where subject = ${subject}`;
    await write({ ref: "1" });
    await minutesAgo(5);
    counts.push(await heldOf(late(5 * 60 - 3), hop % 2 ? first : second));
  }
  expect(counts).toEqual([0, 0, 0, 1]);
  await first.sql`update subject_hops set event_at = event_at - interval '20 minutes' where subject = ${subject}`;
  expect(await heldOf(late(60)), "it happened long after our last write").toBe(0);
  expect(await first.sql`select hops from subject_hops where subject = ${subject}`).toEqual([{ hops: 0 }]);
  await write();
  await minutesAgo(5);
  expect(await heldOf(late(5 * 60 + 30)), "it happened before our write").toBe(0);
  expect(await first.sql`select hops from subject_hops where subject = ${subject}`).toEqual([{ hops: 0 }]);
});

test("events without a write of ours between them are not hops; nor are events without a limit", {
  tags,
}, async () => {
  await write();
  const burst = Array.from({ length: 50 }, () => arrival());
  const stored = await insertArrivals(first.sql, burst, limits);
  expect([...stored.values()].every(({ held }) => held === 0)).toBe(true);
  for (let count = 0; count < 5; count++) {
    await write();
    const { executions } = arrival();
    const free = executions.map((one) => ({ ...one, max_hops: 0 }));
    expect(await heldOf(arrival({ executions: free }))).toBe(0);
  }
});

test("two replicas with the same subjects in opposite order neither deadlock nor miscount", {
  tags,
  timeout: 60_000,
}, async () => {
  const subjects = Array.from({ length: 8 }, () => `alpha:octo/ring#${++issues}`);
  for (const one of subjects) {
    subject = one;
    await write();
  }
  const batch = (names: readonly string[]) => names.map((name) => arrival({}, { subject: name }));
  for (let round = 0; round < 10; round++)
    await Promise.all([
      insertArrivals(first.sql, batch(subjects), limits),
      insertArrivals(second.sql, batch(subjects.toReversed()), limits),
    ]);
  const counts = await first.sql<{ hops: number }[]>`select hops from subject_hops where subject = any(${subjects})`;
  expect(counts.map(({ hops }) => hops)).toEqual(subjects.map(() => 1));
});

test("a marker counts only on the comment that it was posted with", { tags }, async () => {
  const { mark } = await write({ key: "e.5", ref: "900" });
  const marked = (comment: string | null, marks = [mark]) => arrival({ suspect: { marks, comment, kinds: [], digests: [] } });
  const outcomeOf = async (one: Arrival) => [...(await insertArrivals(first.sql, [one], limits)).values()][0];
  expect(await outcomeOf(marked("900"))).toMatchObject({ outcome: "discarded", reason: expect.stringMatching(/marker/) });
  expect(await outcomeOf(marked("901"))).toMatchObject({ outcome: "dispatched", reason: null });
  expect(await outcomeOf(marked("900", ["0".repeat(22)]))).toMatchObject({ outcome: "dispatched" });
  // Before the platform has answered, the id of our comment is unknown.
  const posting = await write({ key: "e.6" });
  expect(await outcomeOf(marked("902", [posting.mark]))).toMatchObject({ outcome: "discarded" });
  const [count] = await first.sql<{ n: number }[]>`select count(*) as n from task_executions where subject = ${subject}`;
  expect(count?.n).toBe(2);
});

test("a change without an actor is ours if it contains what we wrote, once per write", { tags }, async () => {
  const { digests } = await write({ kind: "edit", texts: ["A new description"] });
  const nameless = (kinds: string[], told = digests) =>
    arrival({ suspect: { marks: [], comment: null, kinds, digests: [...told, "other"] } }, { actor: null });
  const outcomeOf = async (one: Arrival) => [...(await insertArrivals(first.sql, [one], limits)).values()][0]?.outcome;
  expect(await outcomeOf(nameless(["comment"]))).toBe("dispatched");
  expect(await outcomeOf(nameless(["edit"], ["another"]))).toBe("dispatched");
  expect(await outcomeOf(nameless(["edit", "label"]))).toBe("discarded");
  expect(await outcomeOf(nameless(["edit"]))).toBe("dispatched");
});

test("of two hooks that deliver one change, one counts, however they race", {
  tags,
  timeout: 60_000,
}, async () => {
  const delivered = (hook_id: string, hookDigest: string) => arrival({ hookDigest }, { hook_id });
  for (let round = 0; round < 30; round++) {
    const digest = round.toString(16).padStart(64, "0");
    const both = [delivered("repo", digest), delivered("org", digest)] as const;
    const stored = await Promise.all([insertArrivals(first.sql, [both[0]]), insertArrivals(second.sql, [both[1]])]);
    const ids = stored.flatMap((events) => [...events.keys()]);
    expect(ids).toHaveLength(1);
    const loser = ids[0] === both[0].event.id ? both[1] : both[0];
    expect(await findEarlier(first.sql, loser.event, null, digest)).toBe(ids[0]);
  }
  const digest = "f".repeat(64);
  const batch = [delivered("repo", digest), delivered("org", digest), delivered("repo", digest)];
  expect((await insertArrivals(first.sql, batch)).size).toBe(2);
  await first.sql`update hook_deliveries set received_at = now() - interval '7 minutes'`;
  expect((await insertArrivals(first.sql, [delivered("org", digest)])).size).toBe(1);
  await first.sql`update own_writes set at = now() - interval '25 hours'`;
  await first.sql`
    insert into hook_deliveries (source, digest, hook_id, event_id)
    select 'alpha', sha256(n::text::bytea), 'repo', gen_random_uuid() from generate_series(1, 5000) n`;
  await first.sql`update hook_deliveries set received_at = now() - interval '7 minutes'`;
  expect([await forgetWrites(first.sql), await forgetWrites(first.sql)]).toEqual([true, false]);
  for (const table of ["own_writes", "hook_deliveries"])
    expect(await first.sql`select 1 from ${first.sql(table)}`).toHaveLength(0);
});

test("a session plans the statement that stores events once, whatever the statistics say", { tags }, async () => {
  const session = await first.sql.reserve();
  const store = async (count: number) => {
    for (let n = 0; n < count; n++) await insertArrivals(session, [arrival({}, { subject: `${subject} ${n}` })], limits);
  };
  /** How often it was planned with its values; each session does so five times before it compares the plans. */
  const planned = async () => {
    const [row] = await session<{ count: number }[]>`
      select sum(custom_plans)::int as count from pg_prepared_statements where statement ~ 'insert into webhook_events'`;
    return row?.count;
  };
  try {
    await store(6);
    await insertArrivals(
      first.sql,
      Array.from({ length: 300 }, () => arrival()),
      limits,
    );
    await first.sql`analyze webhook_events, task_executions`;
    const before = await planned();
    await store(20);
    expect(await planned()).toBe(before);
  } finally {
    session.release();
  }
});
