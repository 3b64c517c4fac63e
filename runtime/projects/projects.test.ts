import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentOperations } from "../agents/operations.ts";
import { capabilityOperations } from "../capabilities/operations.ts";
import { insertSourceMapping, insertTriggerMapping } from "../mappings/queries.ts";
import { openBus } from "../platform/bus.ts";
import { newId } from "../platform/ids.ts";
import { insertTask } from "../tasks/queries.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { insertWebhookMapping } from "../webhook-mappings/queries.ts";
import { insertArrivals } from "../webhooks/queries.ts";
import { openedEvent } from "../webhooks/test-event.ts";
import { projectOperations } from "./operations.ts";

let door: Door;
const memory = {
  key: "house-rules",
  content: "Tabs.",
  scope: "project",
  agent_id: null,
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
};
beforeAll(async () => {
  const memoriesOf = async (_: unknown, project_id: number) => [{ ...memory, project_id }];
  door = await openDoor(async (database) => {
    const bus = await openBus(database, noLog);
    return [...projectOperations(bus, memoriesOf), ...agentOperations(bus), ...capabilityOperations];
  });
}, 60_000);
afterAll(() => door?.close());

const create = (source_project_id: string, more = {}) =>
  door.post("/api/projects", { name: "App", source: "alpha", source_project_id, ...more });

describe("projects", () => {
  test("can be created, read, changed, listed and deleted", async () => {
    const created = await create("octo/life", { description: null });
    expect(created).toMatchObject({ status: 201, body: { name: "App", description: null, source: "alpha" } });
    const path = `/api/projects/${created.body.id}`;
    expect(await door.get(path)).toMatchObject({ status: 200, body: created.body });
    const changed = await door.put(path, { description: "Ours", source: "beta", unknown: 1 });
    expect(changed).toMatchObject({ status: 200, body: { name: "App", description: "Ours", source: "beta" } });
    expect((await door.get("/api/projects?limit=1")).body).toHaveLength(1);
    expect(await door.del(path)).toMatchObject({ status: 204, body: null });
    for (const answer of [await door.del(path), await door.get(path), await door.put(path, { name: "x" })])
      expect(answer).toMatchObject({ status: 404, body: { error: expect.stringContaining(String(created.body.id)) } });
  });

  test("a source has each of its projects once", async () => {
    const first = await create("octo/twice");
    expect((await create("octo/twice")).status).toBe(409);
    expect((await create("octo/twice", { source: "gamma" })).status).toBe(201);
    const other = await create("octo/other");
    expect((await door.put(`/api/projects/${other.body.id}`, { source_project_id: "octo/twice" })).status).toBe(409);
    expect((await door.put(`/api/projects/${first.body.id}`, { source_project_id: "octo/twice" })).status).toBe(200);
  });

  test.each([
    [{ source: "alpha", source_project_id: "x" }, "name"],
    [{ name: "x", source: "omega", source_project_id: "x" }, "source"],
    [{ name: "x", source: "alpha" }, "source_project_id"],
    [{ name: "x", source: "alpha", source_project_id: 7 }, "source_project_id"],
    [{ name: "a\u0000b", source: "alpha", source_project_id: "x" }, "name"],
  ])("POST %j is 400 naming %s", async (body, member) => {
    expect(await door.post("/api/projects", body)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining(member) },
    });
  });

  test("a wrong id or a change of nothing is 400", async () => {
    expect((await door.get("/api/projects/abc")).status).toBe(400);
    expect((await door.get("/api/projects/99999999999/workflow-context")).status).toBe(400);
    expect((await door.put("/api/projects/1", { unknown: 1 })).status).toBe(400);
    expect((await door.get("/api/projects/424242/workflow-context")).status).toBe(404);
  });
});

/** An event as the dispatcher stores it, with one execution. */
async function event(project: string, task_id: string) {
  const row = openedEvent({ subject: `alpha:${project}#1` });
  const executions = [{ id: newId(), task_id, canonical_trigger: "issue.created" }];
  await insertArrivals(door.sql, [{ event: row, project, issue: "1", content: "text", executions }]);
  return executions[0]?.id;
}

test("workflow-context: what bears on the project's work, and its new executions", async () => {
  const { sql } = door;
  await door.post("/api/agents", { id: "named", name: "Named", role_id: "pm", prompt: "p" });
  await door.post("/api/agents", { id: "able", name: "Able", role_id: "ta", prompt: "p" });
  await door.post("/api/agents", { id: "unrelated", name: "Unrelated", role_id: "qa", prompt: "p" });
  await door.post("/api/agents/able/capabilities", { capability: "security" });
  const task = { name: "T", description: "D", actor_id: "named" };
  await insertTask(sql, { ...task, id: "z_first", required_capabilities: [] });
  await insertTask(sql, { ...task, id: "a_second", actor_id: "nobody", required_capabilities: ["security"] });
  await insertSourceMapping(sql, { source: "alpha", event_name: "issues", action: "opened", canonical_trigger: "issue.created" });
  await insertSourceMapping(sql, { source: "alpha", event_name: "bugs", canonical_trigger: "issue.created" });
  await insertSourceMapping(sql, { source: "alpha", event_name: "issues", action: "closed", canonical_trigger: "issue.closed" });
  await insertSourceMapping(sql, { source: "beta", event_name: "x", canonical_trigger: "beta.only" });
  const mapping = {
    source: "alpha",
    event_type: "issues.labeled",
    jq_filter: ".label",
    path_pattern: null,
    extraction_rules: null,
  };
  for (const canonical_trigger of ["own.started", "issue.closed", null])
    await insertWebhookMapping(sql, { ...mapping, canonical_trigger, auth: { method: "none" }, secret: null });
  await insertTriggerMapping(sql, { canonical_trigger: "own.started", task_id: "a_second" });
  for (const task_id of ["z_first", "a_second", "missing"])
    await insertTriggerMapping(sql, { canonical_trigger: "issue.created", task_id });

  const { body: project } = await create("octo/context");
  const before = await event("octo/elsewhere", "z_first");
  const ours = await event("octo/context", "z_first");
  const { status, body } = await door.get(`/api/projects/${project.id}/workflow-context`);
  expect(status).toBe(200);
  expect(Object.keys(body).sort()).toEqual(["agents", "memories", "project", "recent_executions", "triggers"]);
  expect(body.project).toEqual(project);
  expect(body.agents.map((one: { id: string }) => one.id)).toEqual(["named", "able"]);
  expect(
    body.triggers.map((one: { canonical_trigger: string; tasks: { id: string }[] }) => [
      one.canonical_trigger,
      one.tasks.map((t) => t.id),
    ]),
  ).toEqual([
    ["issue.created", ["z_first", "a_second"]],
    ["issue.closed", []],
    ["own.started", ["a_second"]],
  ]);
  expect(body.recent_executions).toMatchObject([{ id: ours, project_id: project.id, state: "queued" }]);
  expect(body.memories).toEqual([{ ...memory, project_id: project.id }]);

  await door.del(`/api/projects/${project.id}`);
  const [kept] = await sql`select project_id from task_executions where id = ${ours ?? ""}`;
  expect(kept).toEqual({ project_id: null });
  expect(before).toBeDefined();
});
