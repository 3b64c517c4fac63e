import { beforeEach, expect, test } from "vitest";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import { type ClaimedExecution, claimExecutions } from "./queries.ts";
import { renameSubject } from "./subject-queries.ts";

const database = useTestDatabase();
const known = { project: "APP", issue: "APP-1" };
const options = { tags: ["postgres" as const] };

beforeEach(async (context) => {
  if (context.task.tags?.includes("postgres"))
    await database().sql`truncate task_executions, webhook_events, pauses, projects cascade`;
});

/** Queues an execution of a new event. `age`: in minutes. */
async function queue({ project, issue }: typeof known, age: number): Promise<string> {
  const { sql } = database();
  const [id, event_id] = [newId(), newId()];
  const place = { source: "gamma", slug: "gamma", subject: `gamma:${project}#${issue}` };
  const event = { ...place, id: event_id, event_name: "e", headers: {}, body: Buffer.from(""), outcome: "dispatched" };
  await sql`insert into webhook_events ${sql(event)}`;
  await sql`insert into task_executions ${sql({ id, event_id, task_id: "t", canonical_trigger: "x", content: "", project, issue, ...place })}`;
  await sql`
    update task_executions set created_at = now() - make_interval(mins => ${age}), run_after = now() - make_interval(mins => ${age})
    where id = ${id}`;
  return id;
}
const claim = (maxExecutions: number): Promise<ClaimedExecution[]> =>
  claimExecutions(database().sql, {
    worker: "w",
    maxExecutions,
    leaseSeconds: 60,
    limits: {},
    share: null,
    leasedExecutions: [],
  });
const byId = { project: "-", issue: "10001" };
/** Returns `false` if the execution was queued again. */
const rename = async (execution: ClaimedExecution | undefined) =>
  (await renameSubject(database().sql, execution as ClaimedExecution, known)) !== null;
const details = async () =>
  (await database().sql<{ detail: string }[]>`select event, detail from execution_history order by n`).map((row) => ({ ...row }));

test(
  "an execution whose issue becomes known waits once for an older one that is queued, which is claimed first",
  options,
  async () => {
    const { sql } = database();
    const later = await queue(byId, 10);
    const [claimed] = await claim(1);
    const older = await queue(known, 20);
    expect(await rename(claimed)).toBe(false);
    expect(await details()).toEqual([{ event: "execution.interrupted", detail: "an older execution on its issue comes first" }]);
    const [first, ...others] = await claim(2);
    expect([first?.id, others]).toEqual([older, []]);
    await sql`update task_executions set state = 'succeeded', lease = null, lease_expires_at = null where id = ${older}`;
    const [again] = await claim(1);
    expect(again).toMatchObject({ id: later, subject: "gamma:APP#APP-1" });
    // An older one that becomes due later does not interrupt it again.
    await queue(known, 30);
    expect(await rename(again)).toBe(true);
  },
);

test("an older execution that is not due, and a younger one, do not make it wait", options, async () => {
  const { sql } = database();
  await queue(byId, 10);
  const [claimed] = await claim(1);
  const postponed = await queue(known, 20);
  await sql`update task_executions set run_after = now() + interval '1 hour' where id = ${postponed}`;
  await queue(known, 5);
  expect(await rename(claimed)).toBe(true);
});

test("it waits while another one is running, and while the project that was found is paused", options, async () => {
  const { sql } = database();
  const [project] = await sql<{ id: string }[]>`
    insert into projects (name, source, source_project_id) values ('App', 'gamma', 'APP') returning id`;
  await sql`insert into pauses (scope, id, reason, paused_by) values ('project', ${String(project?.id)}, 'r', 'p')`;
  const paused = await queue(byId, 10);
  const [claimed] = await claim(1);
  expect(await rename(claimed)).toBe(false);
  expect(await claim(1)).toEqual([]);
  await sql`delete from pauses`;
  const [again] = await claim(1);
  expect(again).toMatchObject({ id: paused, project_id: project?.id });
  expect(await rename(again)).toBe(true);
  await queue(byId, 5);
  const [second] = await claim(1);
  expect(await rename(second)).toBe(false);
  expect((await details()).map(({ detail }) => detail)).toEqual([
    "its project is paused",
    "another execution is running on its issue",
  ]);
});
