import { afterAll, beforeAll, expect, test } from "vitest";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { expectRefused } from "../harness/refused.ts";
import { type Service, startService } from "../harness/service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService();
  await service.post("/api/tasks/seed");
});
afterAll(() => service?.close());

test("an exact action wins over any action; a change applies to the next event", async () => {
  const any = await service.post<{ id: number }>("/api/tasks/sources", {
    source: "alpha",
    event_name: "label",
    canonical_trigger: "label.any",
  });
  expect(any).toMatchObject({ status: 201, body: { action: null, canonical_trigger: "label.any" } });
  const exact = await service.post<{ id: number }>("/api/tasks/sources", {
    source: "alpha",
    event_name: "label",
    action: "created",
    canonical_trigger: "label.created",
  });
  expect(exact.status).toBe(201);
  const resolve = async (action: string) =>
    (await service.get<{ canonical_trigger: string | null }>(`/api/tasks/resolve?source=alpha&event=label&action=${action}`)).body
      .canonical_trigger;
  expect([await resolve("created"), await resolve("deleted")]).toEqual(["label.created", "label.any"]);
  expectRefused(
    await service.post("/api/tasks/sources", {
      source: "alpha",
      event_name: "label",
      action: null,
      canonical_trigger: "label.other",
    }),
    409,
    /label/,
  );
  expect((await service.del(`/api/tasks/sources/${exact.body.id}`)).status).toBe(204);
  expect(await resolve("created")).toBe("label.any");
  expect((await service.del(`/api/tasks/sources/${any.body.id}`)).status).toBe(204);
  expect(await resolve("created")).toBeNull();
  expectRefused(await service.del(`/api/tasks/sources/${any.body.id}`), 404);
});

test("a platform's own name of a default event is refused with the name that mappings use", async () => {
  const refused = async (source: string, event_name: string, says: RegExp) => {
    const mapping = { source, event_name, canonical_trigger: "names.any" };
    expectRefused(await service.post("/api/tasks/sources", mapping), 400, says);
  };
  await refused("gamma", "jira:issue_created", /event_name: .*"gamma:issue_created".*"jira:issue_created"/);
  await refused("delta", "workitem.updated", /event_name: .*"issue\.updated"/);
  const byType = { source: "gamma", event_type: "jira:issue_updated", canonical_trigger: "names.any" };
  expectRefused(await service.post("/api/webhook-mappings", byType), 400, /event_type: .*"gamma:issue_updated"/);
  await service.post("/api/tasks/sources/seed");
  for (const [source, event, action] of [
    ["gamma", "jira:issue_created", ""],
    ["delta", "issue", "&action=created"],
  ])
    expect((await service.get(`/api/tasks/resolve?source=${source}&event=${event}${action}`)).body).toMatchObject({
      event,
      canonical_trigger: "issue.created",
    });
});

test.each(["alpha", "beta", "gamma", "delta"])("%s: any event, with and without an action, can be mapped", async (source) => {
  const names = { alpha: "issues", beta: "Issue Hook", gamma: "gamma:issue_updated", delta: "issue.updated" };
  const known = names[source as keyof typeof names];
  const all = (await service.get<{ source: string; event_name: string; action: string | null }[]>("/api/tasks/sources")).body;
  const seeded = all.filter((one) => one.source === source);
  for (const event_name of ["custom.event", known, "issue", "workitem", "jira:custom"])
    for (const action of ["opened", "created", "updated", null]) {
      const mapping = { source, event_name, action, canonical_trigger: "custom.trigger" };
      const made = await service.post<{ id: number }>("/api/tasks/sources", mapping);
      const isSeeded = seeded.some((one) => one.event_name === event_name && one.action === action);
      expect([event_name, action, made.status]).toEqual([event_name, action, isSeeded ? 409 : 201]);
      if (isSeeded) continue;
      expect(made.body).toMatchObject(mapping);
      const query = new URLSearchParams({ source, event: event_name, ...(action !== null && { action }) });
      expect((await service.get(`/api/tasks/resolve?${query}`)).body).toMatchObject({ canonical_trigger: "custom.trigger" });
      expect((await service.del(`/api/tasks/sources/${made.body.id}`)).status).toBe(204);
    }
  const byFilter = { source, event_type: "issue", jq_filter: '.action=="created"', canonical_trigger: "custom.trigger" };
  expect((await service.post("/api/webhook-mappings", byFilter)).status).toBe(201);
});

test("a webhook mapping with a path names the events of its source itself", async () => {
  const extraction_rules = { event_type: "$.webhookEvent" };
  const path = await service.post<{ id: number }>("/api/webhook-mappings", {
    source: "gamma",
    path_pattern: "/webhook/own",
    extraction_rules,
  });
  expect(path.status).toBe(201);
  const mapping = { source: "gamma", event_name: "jira:issue_created", canonical_trigger: "names.any" };
  expect((await service.post("/api/tasks/sources", mapping)).status).toBe(201);
});

test("triggers: 201, 409, 204, 404, and 400 for invalid ones", async () => {
  const mapping = { canonical_trigger: "label.any", task_id: "triage_initial_intent" };
  const made = await service.post<{ id: number }>("/api/tasks/triggers", mapping);
  expect(made).toMatchObject({ status: 201, body: { ...mapping, id: expect.any(Number) } });
  expectRefused(await service.post("/api/tasks/triggers", mapping), 409, /triage_initial_intent/);
  expectRefused(await service.post("/api/tasks/triggers", { ...mapping, task_id: "not_made_yet" }), 400, /task_id.*not_made_yet/);
  expect((await service.del(`/api/tasks/triggers/${made.body.id}`)).status).toBe(204);
  expectRefused(await service.del(`/api/tasks/triggers/${made.body.id}`), 404);
  expectRefused(
    await service.post("/api/tasks/triggers", { ...mapping, canonical_trigger: "Not A Trigger" }),
    400,
    /canonical_trigger/,
  );
  expectRefused(await service.post("/api/tasks/triggers", { canonical_trigger: "a.b" }), 400, /task_id/);
  for (const id of ["x", "0", "-1", "1.5", "99999999999"])
    expectRefused(await service.del(`/api/tasks/triggers/${id}`), 400, /id/);
});

test("a custom trigger may contain hyphens, and mappings fire it", async () => {
  const canonical_trigger = "release-train.ready-to-ship";
  const task = { id: "ship_check", name: "Ship check", description: "Check the release.", actor_id: "pm_default" };
  expect((await service.post("/api/tasks", task)).status).toBe(201);
  expect((await service.post("/api/tasks/triggers", { canonical_trigger, task_id: task.id })).status).toBe(201);
  const source = { source: "alpha", event_name: "release", action: "published", canonical_trigger };
  expect((await service.post("/api/tasks/sources", source)).status).toBe(201);
  const filter = { source: "alpha", event_type: "workflow_run", canonical_trigger };
  expect((await service.post("/api/webhook-mappings", filter)).status).toBe(201);
  const fired = { status: 202, body: { canonical_trigger, executions: [{ task_id: task.id }] } };
  const payload = { action: "published", repository: { full_name: "octo/app" } };
  expect(await service.webhook(payload, { event: "release" })).toMatchObject(fired);
  expect(await service.webhook({ ...payload, action: "completed" }, { event: "workflow_run" })).toMatchObject(fired);
});

test("signalbox doctor names mappings that are accepted and can start nothing", { timeout: 120_000 }, async () => {
  await using seeded = await startService({ seed: true });
  const trigger = { canonical_trigger: "issue.creatd", task_id: "triage_initial_intent" };
  expect((await seeded.post("/api/tasks/triggers", trigger)).status).toBe(201);
  const mapping = { source: "gamma", event_name: "gamma:issue_updated", action: "edited", canonical_trigger: "issue.updated" };
  expect((await seeded.post("/api/tasks/sources", mapping)).status).toBe(201);
  const env = { SIGNALBOX_URL: seeded.url };
  const doctor = run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["doctor"], env, cwd: seeded.folder });
  expect((await doctor.ended).code).toBe(1);
  expect(doctor.logs()).toContain("the trigger issue.creatd (did you mean issue.created?)");
  expect(doctor.logs()).toContain("The mapping of gamma gamma:issue_updated/edited never matches");
});
