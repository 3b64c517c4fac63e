import type { Policy } from "@signalbox/schema/policy";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Bus, openBus } from "../platform/bus.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { openPolicies } from "./policies.ts";

let door: Door;
let bus: Bus;
beforeAll(async () => {
  door = await openDoor(() => []);
  bus = await openBus(door.database, noLog);
}, 120_000);
afterAll(async () => {
  bus?.close();
  await door?.close();
});

/** Stores the policy of the agent and that of the project; `null` deletes it. Returns the id of the project. */
async function store(ofAgent: Policy | null, ofProject: Policy | null): Promise<number | undefined> {
  const { sql } = door;
  const json = (policy: Policy | null) => sql`${JSON.stringify(policy)}::text::jsonb`;
  await sql`delete from agents`;
  if (ofAgent)
    await sql`insert into agents (id, name, role_id, prompt, policy) values ('pm', 'PM', 'pm', 'Plan.', ${json(ofAgent)})`;
  if (!ofProject) await sql`delete from projects`;
  const [project] = ofProject
    ? await sql<{ id: number }[]>`
        insert into projects (name, source, source_project_id, policy) values ('App', 'alpha', 'octo/app', ${json(ofProject)})
        on conflict (source, source_project_id) do update set policy = excluded.policy returning id`
    : [];
  await bus.publish("policy");
  return project?.id;
}

test("work that has begun follows a change, and is not less restricted once its agent or project is deleted", async () => {
  const project = (await store(null, { run_writes: 3 })) ?? null;
  const policies = await openPolicies(door.sql, bus, noLog, {});
  const valuesOf = ({ staged, run_writes }: ReturnType<typeof policies.of>) => [staged.value, run_writes.value];
  const now = policies.during("pm", project);
  expect(valuesOf(now())).toEqual([false, 3]);
  const change = async (ofAgent: Policy | null, ofProject: Policy | null) => {
    await store(ofAgent, ofProject);
    return [valuesOf(now()), valuesOf(policies.of("pm", project))];
  };
  expect(await change({ staged: true }, { run_writes: 2 })).toEqual([
    [true, 2],
    [true, 2],
  ]);
  expect(await change(null, { run_writes: 4 })).toEqual([
    [true, 4],
    [false, 4],
  ]);
  expect(await change(null, null)).toEqual([
    [true, 4],
    [false, 10],
  ]);
  policies.close();
});
