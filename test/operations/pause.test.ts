import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { startUrlProxy } from "../harness/tcp-proxy.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly waiting_for: string | null;
  readonly next_attempt_at: string | null;
}
interface Status {
  readonly state: string;
  readonly queue: { readonly queued: number; readonly oldest_queued_seconds: number | null };
  readonly paused: readonly { readonly scope: string; readonly reason: string }[];
  readonly replicas: readonly { readonly this: boolean; readonly role: string }[];
  readonly checks: readonly {
    readonly name: string;
    readonly state: string;
    readonly message: string;
    readonly since: string;
    readonly next_try_at: string | null;
    readonly connection: { readonly account: string; readonly may_write: boolean | null } | null;
  }[];
}

let world: World;
const repo = "acme/webshop";
beforeAll(async () => {
  world = await startWorld({ tasks: ["first"] });
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

const open = async (number: number) => (await world.service.webhook(issueOpened({ repo, number, sender: "mona" }))).body;
const executionOf = async (event_id: string) =>
  (await world.service.get<Shown[]>(`/api/task-executions?event_id=${event_id}`)).body[0] as Shown;
const status = async () => (await world.service.get<Status>("/api/status")).body;
const oldestDue = async () => {
  const { body } = await world.service.get<string>("/metrics");
  return Number(/^signalbox_oldest_queued_seconds (\S+)$/m.exec(body)?.[1]);
};
const pause = (body: object) => world.service.post<{ error: string }>("/api/pause", { reason: "Wrong answers", ...body });

test("while everything is paused, webhooks are stored, and nothing starts until it is resumed", async () => {
  expect((await pause({ scope: "all" })).status).toBe(200);
  const { event_id, status: taken } = await open(1);
  expect(taken).toBe("accepted");
  const waiting = await executionOf(event_id);
  expect(waiting).toMatchObject({ state: "queued", waiting_for: "everything is paused: Wrong answers", next_attempt_at: null });
  expect(await status()).toMatchObject({
    state: "stopped",
    queue: { queued: 1, oldest_queued_seconds: expect.any(Number) },
    paused: [{ scope: "all", reason: "Wrong answers", paused_by: "anonymous" }],
  });
  expect(world.model.chats()).toEqual([]);
  // No alert about a queue that is stuck.
  expect(await oldestDue()).toBe(0);
  expect((await world.service.post("/api/resume", { scope: "all" })).status).toBe(200);
  await waitForExecutions(world.service, { event_id });
  expect((await world.service.post("/api/resume", { scope: "all" })).status).toBe(404);
});

test.each([
  ["agent", "pm_default"],
  ["source", "alpha"],
])("only a paused %s waits; others run", async (scope, id) => {
  const other = scope === "agent" ? "ta_default" : null;
  if (other) {
    await world.service.post("/api/tasks", { id: "other", name: "Other", description: "Do other.", actor_id: other });
    await world.service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: "other" });
  }
  await pause({ scope, id });
  const { event_id, executions = [] } = await open(scope === "agent" ? 2 : 3);
  if (other) {
    // It is newer, on the same issue, and must not wait for the paused one.
    await eventually(async () => {
      const { body } = await world.service.get<(Shown & { task_id: string })[]>(`/api/task-executions?event_id=${event_id}`);
      return body.find(({ task_id }) => task_id === "other")?.state === "succeeded";
    });
  }
  const first = executions.find(({ task_id }) => task_id === "first");
  const { body } = await world.service.get<Shown>(`/api/task-executions/${first?.id}`);
  expect(body).toMatchObject({ state: "queued", waiting_for: `${scope} ${id} is paused: Wrong answers` });
  expect((await status()).state).toBe("degraded");
  expect(await oldestDue()).toBe(0);
  await world.service.post("/api/resume", { scope, id });
  await waitForExecutions(world.service, { event_id, count: executions.length });
});

test("a project that is deleted is no longer listed as paused", async () => {
  const named = { name: "Deleted", source: "alpha", source_project_id: "octo/deleted" };
  const { body: project } = await world.service.post<{ id: number }>("/api/projects", named);
  expect((await pause({ scope: "project", id: project.id })).status).toBe(200);
  expect((await world.service.del(`/api/projects/${project.id}`)).status).toBe(204);
  const { body } = await world.service.get<{ id: string }[]>("/api/pause");
  expect(body.filter(({ id }) => id === String(project.id))).toEqual([]);
});

test("what a pause stopped does not start when the project is deleted, but when an operator releases it", async () => {
  const named = { name: "Stopped", source: "alpha", source_project_id: "octo/stopped" };
  const { body: project } = await world.service.post<{ id: number }>("/api/projects", named);
  await pause({ scope: "project", id: project.id });
  const { body } = await world.service.webhook(issueOpened({ repo: "octo/stopped", number: 1, sender: "mona" }));
  expect((await world.service.del(`/api/projects/${project.id}`)).status).toBe(204);
  const held_reason = `project ${project.id} was paused when it was deleted: Wrong answers`;
  const isHeld = async () => {
    for (const { id } of body.executions ?? []) {
      const { body: shown } = await world.service.get(`/api/task-executions/${id}`);
      expect(shown).toMatchObject({ state: "held", waiting_for: "a release by an operator", held_reason });
    }
  };
  await isHeld();
  const { body: later } = await world.service.webhook(issueOpened({ repo: "octo/stopped", number: 2, sender: "mona" }));
  await waitForExecutions(world.service, { event_id: later.event_id, count: later.executions?.length ?? 0 });
  await isHeld();
  for (const { id } of body.executions ?? [])
    expect((await world.service.post(`/api/task-executions/${id}/release`)).status).toBe(200);
  await waitForExecutions(world.service, { event_id: body.event_id, count: body.executions?.length ?? 0 });
});

test("a run of a paused project that is deleted meanwhile is held instead of retried", async () => {
  const named = { name: "Retried", source: "alpha", source_project_id: "octo/retried" };
  const { body: project } = await world.service.post<{ id: number }>("/api/projects", named);
  const requests = { path: "chat", body: "octo/retried#1\\." };
  // The first attempt fails after the deletion.
  world.model.fault({ ...requests, status: 500, times: 0, hold: true });
  const { body } = await world.service.webhook(issueOpened({ repo: "octo/retried", number: 1, sender: "mona" }));
  const states = async () =>
    (await world.service.get<(Shown & { attempts: number })[]>(`/api/task-executions?event_id=${body.event_id}`)).body;
  const running = await eventually(async () => (await states()).find(({ state }) => state === "running"));
  await pause({ scope: "project", id: project.id });
  expect((await world.service.del(`/api/projects/${project.id}`)).status).toBe(204);
  world.model.clearFaults();
  world.model.fault({ ...requests, status: 500, times: 0 });
  const path = `/api/task-executions/${running.id}`;
  const becomes = (wanted: object) =>
    eventually(async () => expect((await world.service.get<Shown>(path)).body).toMatchObject(wanted), { timeout: 60_000 });
  const held_reason = `project ${project.id} was paused when it was deleted: Wrong answers`;
  await becomes({ state: "held", waiting_for: "a release by an operator", held_reason, attempts: 1, error: null });
  expect((await world.service.post(`${path}/release`)).status).toBe(200);
  // Held once: what an operator released is retried as usual.
  await becomes({ state: "failed", held_reason: null, attempts: 3 });
  world.model.clearFaults();
  for (const { id, state } of await states())
    if (state === "held") expect((await world.service.post(`/api/task-executions/${id}/cancel`)).status).toBe(200);
});

test("a project is paused by its id, and the timeline of an issue says so", async () => {
  const { body: project } = await world.service.post<{ id: number }>("/api/projects", {
    name: "Paused",
    source: "alpha",
    source_project_id: "octo/paused",
  });
  expect((await pause({ scope: "project", id: project.id })).body).toMatchObject({ scope: "project", id: String(project.id) });
  const { body } = await world.service.webhook(issueOpened({ repo: "octo/paused", number: 1, sender: "mona" }));
  const { body: issue } = await world.service.get<{ verdict: string }>("/api/subjects/alpha/octo%2Fpaused/1");
  expect(issue.verdict).toContain(`first: Waiting: project ${project.id} is paused: Wrong answers.`);
  expect((await world.service.post("/api/resume", { scope: "project", id: project.id })).status).toBe(200);
  await waitForExecutions(world.service, { event_id: body.event_id, count: body.executions?.length ?? 0 });
});

test.each([
  [{ scope: "agent", id: "nobody_there" }, /id: there is no agent "nobody_there"; available: \w+, /],
  [{ scope: "source", id: "omega" }, /id: there is no source "omega"; available: alpha/],
  [{ scope: "project" }, /id: is required with the scope project/],
  [{ scope: "project", id: 99 }, /id: there is no project "99"/],
  [{ scope: "project", id: "octo/paused" }, /id: there is no project "octo\/paused"; available: \d+ \(alpha:octo\/paused\)/],
  [{ scope: "all", id: "1" }, /id: must not be sent/],
  [{ scope: "everything" }, /scope/],
])("%j is refused", async (body, error) => {
  expect(await pause(body)).toMatchObject({ status: 400, body: { error: expect.stringMatching(error) } });
});

test("the status names what is down, and an operator's pause is in the audit log", async () => {
  const well = await eventually(async () => {
    const now = await status();
    return now.checks.every(({ state }) => state === "ok" || state === "unknown") && now;
  });
  expect(well).toMatchObject({ state: "ok", replicas: [{ this: true, role: "all" }] });
  expect(well.checks.find(({ name }) => name === "connection:alpha")).toMatchObject({
    message: expect.stringMatching(/127\.0\.0\.1:\d+ answers; account signalbox-bot; \d+ of 5000 requests left until 2\d{3}-/),
    connection: { account: "signalbox-bot", may_write: null, rate_limit: { limit: 5000, remaining: expect.any(Number) } },
  });
  expect(well.checks.map(({ name }) => name)).toEqual(expect.arrayContaining(["database", "model", "embedder", "credentials"]));
  const { body } = await world.service.get<{ operation: string }[]>("/api/audit-log?operation=pauses.pause");
  expect(body.length).toBeGreaterThan(0);
});

test("the status shows that a credential may only read", async () => {
  await using other = await startWorld({ tasks: [] });
  other.tracker.scopes = "read:user, gist";
  const found = await eventually(async () => {
    const { body } = await other.service.get<Status>("/api/status");
    return body.checks.find(({ name, state }) => name === "connection:alpha" && state !== "unknown");
  });
  expect(found).toMatchObject({
    state: "degraded",
    message: expect.stringContaining("its credential has no write permission, so comments will be refused"),
    next_try_at: expect.stringMatching(/Z$/),
    connection: { may_write: false },
  });
});

test("without the database the status still answers, and says so", { tags: ["postgres"] }, async () => {
  await using database = await freshDatabase("migrated");
  await using proxy = await startUrlProxy(database.url);
  await using other = await startWorld({ tasks: [], databaseUrl: proxy.url });
  await proxy.cut();
  const down = await eventually(
    async () => {
      const { status: code, body } = await other.service.get<Status>("/api/status");
      expect(code).toBe(200);
      return body.checks.find(({ name }) => name === "database")?.state === "failed" && body;
    },
    { interval: 500 },
  );
  expect(down).toMatchObject({ state: "stopped", queue: null, replicas: [] });
  const failed = down.checks.find(({ name }) => name === "database");
  // It is retried whether or not it is read.
  expect(Date.parse(failed?.next_try_at ?? "")).toBeGreaterThan(Date.parse(failed?.since ?? ""));
  await proxy.mend();
});
