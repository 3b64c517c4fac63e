import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sql } from "../platform/database/client.ts";
import { type TestDatabase, testDatabase, testServer } from "../platform/database/test-database.ts";
import { eraseData } from "./erase-queries.ts";

const count = 20_000;
let database: TestDatabase | undefined;
beforeAll(async () => {
  if (testServer) database = await testDatabase(testServer, { replicas: 1, max: 2 });
});
afterAll(() => database?.drop());

/** Events of a project, each on another issue, of which the first ten were stopped by their authors. */
async function insertHistory(sql: Sql, project: string): Promise<void> {
  await sql`
    with numbers as (select n, gen_random_uuid() as id, ${`alpha:${project}#`} || n as subject from generate_series(1, ${count}) n), events as (
      insert into webhook_events (id, source, slug, delivery_id, event_name, actor, subject, title, outcome, headers, body, received_at)
      select id, 'alpha', 'alpha', id, 'issues', 'ann', subject, 'Crash', 'dispatched', '{}', '{}', now() from numbers
    )
    insert into task_executions (id, event_id, task_id, source, slug, canonical_trigger, subject, content, state, reason)
    select id, id, 'triage', 'alpha', 'alpha', 'issue.created', subject, 'text', 'succeeded',
      case when n <= 10 then 'stopped by alpha:ann (event 1)' end from numbers`;
}

/** Events on one issue, each by another person, who stopped the execution of the event. */
async function insertCrowd(sql: Sql, subject: string, people: number): Promise<void> {
  await sql`
    with numbers as (select n, gen_random_uuid() as id from generate_series(1, ${people}) n), events as (
      insert into webhook_events (id, source, slug, delivery_id, event_name, actor, subject, title, outcome, headers, body, received_at)
      select id, 'alpha', 'alpha', id, 'issues', 'ann' || n, ${subject}, 'Crash', 'dispatched', '{}', '{}', now() from numbers
    ), executions as (
      insert into task_executions (id, event_id, task_id, source, slug, canonical_trigger, subject, content, state, reason)
      select id, id, 'triage', 'alpha', 'alpha', 'issue.created', ${subject}, 'text', 'cancelled', 'stopped by alpha:ann' || n || ' (event ' || id || ')' from numbers
    )
    insert into execution_steps (id, execution_id, seq, kind, state, name, decided_by)
    select gen_random_uuid(), id, 0, 'tool', 'rejected', 'x', 'alpha:ann' || n from numbers`;
}

test("erasing an issue with 10,000 people takes less than the time limit of a statement, and can be repeated", {
  tags: ["postgres"],
  timeout: 120_000,
}, async () => {
  const { sql } = (database as TestDatabase).pools[0] as TestDatabase["pools"][number];
  const subject = "alpha:acme/crowd#1";
  const people = 10_000;
  await insertCrowd(sql, subject, people);
  const target = { subjects: [subject], actor: null, project_id: null, unparsed: [] };
  const byActor = { ...target, subjects: null, actor: "ann7" };
  expect(await eraseData(sql, byActor)).toEqual({ events: 1, executions: 1, steps: 1 });
  expect(await eraseData(sql, target)).toEqual({ events: people, executions: people, steps: people - 1 });
  expect(await sql`select 1 from task_executions where subject = ${subject} and reason ~ 'ann' limit 1`).toHaveLength(0);
  expect(await eraseData(sql, target)).toEqual({ events: people, executions: people, steps: 0 });
});

test.each([
  ["a project", "acme/one"],
  ["a person", "acme/two"],
])("erasing %s with 20,000 events takes less than the time limit of a statement", { tags: ["postgres"] }, async (of, project) => {
  const { sql } = (database as TestDatabase).pools[0] as TestDatabase["pools"][number];
  await insertHistory(sql, project);
  const [row] = await sql<[{ id: number }]>`
    insert into projects (name, source, source_project_id) values (${project}, 'alpha', ${project}) returning id`;
  const target = of === "a project" ? { actor: null, project_id: row.id } : { actor: "ann", project_id: null };
  const counts = await eraseData(sql, { subjects: null, unparsed: [], ...target });
  expect(counts).toEqual({ events: count, executions: count, steps: 0 });
  const reasons = await sql<{ reason: string | null; n: number }[]>`
    select reason, count(*)::int as n from task_executions where starts_with(subject, ${`alpha:${project}#`}) group by reason order by n`;
  expect(reasons).toEqual([
    { reason: "stopped by alpha:someone (event 1)", n: 10 },
    { reason: null, n: count - 10 },
  ]);
});
