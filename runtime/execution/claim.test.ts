import { beforeEach, expect, test } from "vitest";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import { pack } from "../platform/packing/packed.ts";
import { claimExecutions, nextDue } from "./queries.ts";

const database = useTestDatabase();
beforeEach(async () => {
  await database().sql`truncate task_executions, pauses cascade`;
});

/** Queues executions on subjects, one per second, the first an hour ago. */
async function queue(subjects: readonly (string | null)[], secondsAgo = 3_600): Promise<string[]> {
  const { sql } = database();
  const rows = subjects.map((subject, n) => ({ id: newId(), subject, at: `${n - secondsAgo} seconds` }));
  await sql`
    insert into task_executions (id, task_id, canonical_trigger, source, slug, subject, content, created_at, run_after)
    select x.id, 't', 'x', 'alpha', 'alpha', x.subject, '', now() + x.at, now() + x.at
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (id uuid, subject text, at interval)`;
  return rows.map(({ id }) => id);
}
const claimAll = (maxExecutions: number) =>
  claimExecutions(database().sql, {
    worker: newId(),
    maxExecutions,
    leaseSeconds: 60,
    limits: {},
    share: null,
    leasedExecutions: [],
  });
const claim = async (most: number) => (await claimAll(most)).map(({ id }) => id);
const finish = (ids: readonly string[]) =>
  database()
    .sql`update task_executions set state = 'succeeded', lease = null, finished_at = now() where id = any(${ids}::uuid[])`;
const many = (count: number, subject: (n: number) => string | null) => Array.from({ length: count }, (_, n) => subject(n));

test("the oldest of each issue is claimed, in the order in which they came", { tags: ["postgres"] }, async () => {
  const [a1, b1, a2, none1, none2] = await queue(["a", "b", "a", null, null]);
  expect(await claim(2)).toEqual([a1, b1]);
  expect((await claim(9)).sort()).toEqual([none1, none2].sort());
  expect(await claim(9)).toEqual([]);
  await finish([a1 as string]);
  expect(await claim(9)).toEqual([a2]);
});

test("an execution is due at the moment when it is queued", { tags: ["postgres"] }, async () => {
  for (let round = 0; round < 20; round++)
    await database().sql.begin(async (tx) => {
      const id = newId();
      await tx`insert into task_executions ${tx({ id, task_id: "t", canonical_trigger: "x", source: "alpha", slug: "alpha", content: "" })}`;
      expect(await tx`select next_execution_due() <= now() as is_due`).toEqual([{ is_due: true }]);
      await tx`update task_executions set run_after = default where id = ${id}`;
      expect(await tx`select next_execution_due() <= now() as is_due`).toEqual([{ is_due: true }]);
      await tx`update task_executions set state = 'cancelled', finished_at = now() where id = ${id}`;
    });
});

test("an execution whose text cannot be unpacked is claimed with the reason, and the others with their texts", {
  tags: ["postgres"],
}, async () => {
  const { sql } = database();
  const text = "The order total is wrong after a reload of the page. ".repeat(9);
  const packed = pack("prompt", Buffer.from(text)) as Buffer;
  const stored = [packed, Buffer.concat([Buffer.of(8), packed]), packed.subarray(0, -9)];
  const ids = await queue(["a", "b", "c"]);
  for (const [n, bytes] of stored.entries())
    await sql`update task_executions set packed_content = ${bytes} where id = ${ids[n] as string}`;
  const claimed = await claimAll(9);
  expect(ids.map((one) => claimed.find(({ id }) => id === one))).toMatchObject([
    { parts: [text], unreadable: null },
    { parts: [], unreadable: expect.stringContaining("packed with dictionary 8, which this release does not have") },
    { parts: [], unreadable: "unexpected end of file" },
  ]);
});

test("executions behind a long backlog of one issue are claimed together with it", { tags: ["postgres"] }, async () => {
  const [first] = await queue(many(2_000, () => "long"));
  const behind = await queue(["b", "c", null, "d"], 1_000);
  expect((await claim(9)).sort()).toEqual([first, ...behind].sort());
  expect(await claim(9)).toEqual([]);
});

test("an execution that may run is found behind any number that may not", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  await sql`insert into pauses (scope, id, reason, paused_by) values ('agent', 'x', 'a rest', 'ops')`;
  const paused = await queue(many(1_500, (n) => `paused ${n}`));
  await sql`update task_executions set agent_id = 'x' where id = any(${paused}::uuid[])`;
  const [last] = await queue(["m"], 100);
  expect(await claim(9)).toEqual([last]);
  expect(await claim(9)).toEqual([]);
});

/** How many blocks a claim of 16 executions reads. */
async function blocksOfClaim(): Promise<number> {
  const plan = await database().sql.unsafe<
    { "QUERY PLAN": [{ Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number } }] }[]
  >(`explain (analyze, buffers, format json) select * from claim_executions('w', 16, 60, '{}', null, '{}', '{}')`);
  const { "Shared Hit Blocks": hit, "Shared Read Blocks": read } = (plan[0] as (typeof plan)[number])["QUERY PLAN"][0].Plan;
  return hit + read;
}

test("a claim reads only what it takes, however long the queue is", { tags: ["postgres"], timeout: 60_000 }, async () => {
  const { sql } = database();
  const backlogs = { "three issues": (n: number) => `${n % 3}`, "an issue each": (n: number) => `${n}` };
  for (const [name, subject] of Object.entries(backlogs)) {
    await sql`truncate task_executions cascade`;
    await queue(many(30_000, subject), 90_000);
    await sql`vacuum analyze task_executions`;
    for (let round = 0; round < 4; round++) {
      // Reading all of them would take 90,000 blocks or more.
      expect(await blocksOfClaim(), `${name}, claim ${round}`).toBeLessThan(8_000);
    }
  }
});

test("so does a claim with statistics from when the queue was empty", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  await queue(many(3_000, (n) => `alpha:an-organization/a-repository-of-it#${n}`));
  await sql`update task_executions set state = 'running', lease = 'w:1', lease_expires_at = now()`;
  await sql`update task_executions set state = 'succeeded', finished_at = now()`;
  await sql`analyze task_executions`;
  const begun = await queue(many(2_000, (n) => `running ${n}`));
  await sql`update task_executions set state = 'running', lease = 'w:1', lease_expires_at = now() where id = any(${begun}::uuid[])`;
  await queue(many(2_000, (n) => `waiting ${n}`));
  // Claims also read the rows of before while a transaction can see them: one of this database that began earlier, for example an
  // analysis of a table, and one of any database that has begun to write.
  const [changed] = await sql`select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as at`;
  const viewers = () => sql`
    select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_xmin is not null
    union all select where pg_snapshot_xmin(pg_current_snapshot())::text::bigint < ${changed?.at}`;
  await expect.poll(viewers).toHaveLength(0);
  const blocks: number[] = [];
  // A claim also reads the catalogue if it is the first of its session, or if the table was analyzed meanwhile.
  for (let round = 0; round < 4; round++) blocks.push(await blocksOfClaim());
  // With an index of all queued and running executions, it would be 3,000 or more.
  expect(Math.min(...blocks)).toBeLessThan(1_500);
});

test("the queue looks again when a postponed execution is due", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  expect(await nextDue(sql)).toBeNull();
  const [first, second] = await queue(["a", "a"]);
  expect(await claim(9)).toEqual([first]);
  expect(await nextDue(sql)).toBeLessThan(0);
  await sql`update task_executions set run_after = now() + interval '1 hour' where id = ${second as string}`;
  const wait = await nextDue(sql);
  expect(wait).toBeGreaterThan(59 * 60_000);
  expect(wait).toBeLessThanOrEqual(60 * 60_000);
});

test("the queue looks again if another statement is ending a hold at the moment when it is over", {
  tags: ["postgres"],
}, async () => {
  const { sql } = database();
  const [held] = await queue(["a"]);
  await sql`update task_executions set state = 'held', held_until = now() - interval '1 second' where id = ${held as string}`;
  await sql.begin(async (tx) => {
    await tx`update task_executions set state = 'queued', held_until = null where id = ${held as string}`;
    expect(await claim(9)).toEqual([]);
    expect(await nextDue(sql)).toBeLessThan(0);
  });
  expect(await claim(9)).toEqual([held]);
});
