import { expect, test } from "vitest";
import type { Sql } from "../platform/database/client.ts";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import { claimExecutions, nextDue } from "./queries.ts";

const database = useTestDatabase();

const sqlOf = () => database().sql;
const claim = (sql: Sql, maxExecutions: number) =>
  claimExecutions(sql, { worker: "w", maxExecutions, leaseSeconds: 60, limits: {}, share: 4, leasedExecutions: [] });
const pick = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)] as T;
const sometimes = <T>(all: readonly T[], part: number): T[] => all.filter(() => Math.random() < part);
const execution = (n: number, given: Record<string, unknown> = {}) => ({
  id: newId(),
  task_id: "t",
  canonical_trigger: "x",
  source: "alpha",
  slug: "alpha",
  project: "a/b",
  issue: "1",
  content: "",
  subject: `alpha:a/b#${n}`,
  created_at: new Date(Date.now() - 3_600_000 + n),
  run_after: new Date(Date.now() - 3_600_000),
  ...given,
});
const breaker = (key: string, probe: string | null = null) => ({
  key,
  name: key,
  effect: "write",
  reason: "503",
  next_probe_at: new Date(Date.now() + 3_600_000),
  probe,
});
const clear = (sql: Sql) =>
  sql`with a as (delete from breakers), b as (delete from pauses), c as (delete from agent_streams) delete from task_executions`;

test("a claim does not look at executions that wait for a breaker or are paused, and takes the one that may run", {
  tags: ["postgres"],
}, async () => {
  const sql = sqlOf();
  await clear(sql);
  const waiting = Array.from({ length: 3_000 }, (_, n) => execution(n));
  await sql`insert into task_executions ${sql(waiting)}`;
  const free = execution(5_000, { source: "beta", started_at: new Date() });
  await sql`insert into task_executions ${sql(free)}`;
  for (const [table, row] of [
    ["breakers", breaker("model")],
    ["pauses", { scope: "source", id: "alpha", reason: "r", paused_by: "p" }],
  ] as const) {
    await sql`insert into ${sql(table)} ${sql(row)}`;
    await sql
      .begin(async (tx) => {
        const count = async () =>
          Number(
            (
              await tx`select (idx_tup_fetch + seq_tup_read)::int as n from pg_stat_xact_user_tables where relname = 'task_executions'`
            )[0]?.n,
          );
        const before = await count();
        const claimed = await claim(tx as unknown as Sql, 16);
        expect(claimed.map(({ id }) => id)).toEqual([free.id]);
        expect(await tx`select next_execution_due() as due`).toEqual([{ due: null }]);
        expect((await count()) - before).toBeLessThan(100);
        throw new Error("undo");
      })
      .catch((error) => expect(String(error)).toBe("Error: undo"));
    await sql`delete from ${sql(table)}`;
  }
});

test("with any breakers, pauses and connected agents, a claim takes the oldest unblocked execution of each issue", {
  tags: ["postgres"],
}, async () => {
  const sql = sqlOf();
  await sql`insert into agents (id, name, role_id, prompt) select 'a' || n, 'A', 'pm', 'p' from generate_series(1, 4) n`;
  await sql`insert into tasks (id, name, description, actor_id, required_capabilities)
    select 'k' || n, 'K', 'd', 'a' || (1 + n % 5), case when n % 3 = 0 then array['x'] else '{}' end from generate_series(1, 6) n`;
  const projects = await sql<{ id: number }[]>`
    insert into projects (name, source, source_project_id) select 'p' || n, 'alpha', 'o/' || n from generate_series(1, 3) n returning id`;
  await sql`insert into agent_sessions (id_hash, agent_id, expires_at) values ('s', 'a1', now() + interval '1 hour')`;
  const keys = ["model", "connection alpha environment", "connection beta x"];
  for (let round = 0; round < 30; round++) {
    await clear(sql);
    const rows = Array.from({ length: 120 }, (_, n) =>
      execution(n, {
        task_id: `k${1 + Math.floor(Math.random() * 6)}`,
        source: pick(["alpha", "beta"]),
        subject: `s${n % 40}`,
        agent_id: pick([null, "a1", "a2", "a3"]),
        project_id: pick([null, ...projects.map(({ id }) => id)]),
        started_at: pick([null, new Date()]),
        blocked_by: pick([null, null, ...keys]),
      }),
    );
    await sql`insert into task_executions ${sql(rows)}`;
    for (const key of sometimes(keys, 0.5)) await sql`insert into breakers ${sql(breaker(key, pick([null, pick(rows).id])))}`;
    const pauses = sometimes(
      [["source", "beta"], ["agent", "a1"], ["agent", "a2"], ...projects.map(({ id }) => ["project", String(id)]), ["all", ""]],
      0.15,
    );
    for (const [scope = "", id = ""] of pauses) await sql`insert into pauses ${sql({ scope, id, reason: "r", paused_by: "p" })}`;
    for (const agent_id of sometimes(["a1", "a3"], 0.4))
      await sql`insert into agent_streams (id, agent_id, session_hash, expires_at) values (${newId()}, ${agent_id}, 's', now() + interval '1 hour')`;
    const kept = await sql<{ id: string; subject: string; due: boolean }[]>`
      select x.id, x.subject, not exists (select from breakers b where b.key = blocking_key(x) and b.probe is distinct from x.id)
          and pause_of(x) is null as due
      from task_executions x order by x.created_at, x.id`;
    const expected = new Map<string, string>();
    for (const one of kept) if (one.due && !expected.has(one.subject)) expected.set(one.subject, one.id);
    const due = await nextDue(sql);
    expect(due === null).toBe(expected.size === 0);
    const claimed = await claim(sql, 1_000);
    expect(new Set(claimed.map(({ id }) => id))).toEqual(new Set(expected.values()));
  }
});
