import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { example, issueClosed, issueOpened } from "../harness/alpha-payloads.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const repo = "signalbox-demo/module-update";
const setUp = "/api/use-cases/module-update/setup";
const tearDown = "/api/use-cases/module-update/teardown";
interface SetUp {
  readonly project: { readonly id: number; readonly project_id: string };
  readonly tracker_issue: { readonly key: string; readonly url: string } | null;
  readonly next_steps: readonly string[];
}
const labeled = (name: string) =>
  issueOpened(
    { repo, number: 1, sender: "mona" },
    { action: "labeled", label: { ...(example("issues", "labeled").label as object), name } },
  );
const names = (rows: readonly { canonical_trigger: string }[]) =>
  rows.filter((row) => row.canonical_trigger.startsWith("module_update."));
const leftovers = async (service: Service) => [
  ...names((await service.get<{ canonical_trigger: string }[]>("/api/webhook-mappings?limit=1000")).body),
  ...names((await service.get<{ canonical_trigger: string }[]>("/api/tasks/triggers?limit=1000")).body),
  ...(await service.get<unknown[]>("/api/projects")).body,
];

describe("with alpha as the tracker", () => {
  let tracker: Tracker;
  let model: Awaited<ReturnType<typeof startModel>>;
  let service: Service;
  beforeAll(async () => {
    tracker = await startTracker({ autoCreate: true });
    model = await startModel();
    const env = { ALPHA_API_URL: tracker.url, ALPHA_TOKEN: "t", LLM_BASE_URL: model.url };
    service = await startService({ env });
  }, 120_000);
  afterAll(async () => {
    await service?.close();
    await model?.close();
    await tracker?.close();
  }, 60_000);

  const run = async (count: number) =>
    eventually(
      async () => {
        const { body } = await service.get<{ task_id: string; agent_id: string; state: string }[]>("/api/task-executions");
        return body.length === count && body.every(({ state }) => state === "succeeded") && body;
      },
      { timeout: 30_000 },
    );

  test("says which default seed is missing", async () => {
    expect(await service.post(setUp)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining("/api/agents/seed") },
    });
    await service.post("/api/agents/seed");
    expect(await service.post(setUp)).toMatchObject({ status: 409, body: { error: expect.stringContaining("/api/tasks/seed") } });
    for (const seed of ["/api/tasks/seed", "/api/tasks/triggers/seed", "/api/tasks/sources/seed"]) await service.post(seed);
    expect(await leftovers(service)).toEqual([]);
  });

  test("setup → webhooks → three analyses → teardown", { timeout: 120_000 }, async () => {
    const context = { tech_stack: "TypeScript", deployment: "containers", team_size: "5" };
    const made = await service.post<SetUp>(setUp, { project_context: context });
    expect(made).toMatchObject({
      status: 200,
      body: {
        status: "ready",
        agents_verified: ["pm_default", "ta_default", "qa_default"],
        project: { project_id: repo, name: expect.any(String), id: expect.any(Number) },
        tracker_issue: { key: `${repo}#1`, url: expect.stringContaining("/issues/1") },
      },
    });
    expect(tracker.issue(repo, 1)?.body).toContain("tech stack: TypeScript");
    expect((await service.post(setUp)).body).toEqual(made.body);
    expect(tracker.issue(repo, 2)).toBeNull();
    await run(1);
    // The platform's own webhook about what Signalbox created starts no further run.
    const own = issueOpened({ repo, number: 1, sender: tracker.login });
    expect((await service.webhook(own)).body).toMatchObject({ status: "discarded" });

    const about = { repo, number: 1, sender: "mona" };
    expect((await service.webhook(labeled("bug"))).body).toMatchObject({ status: "discarded" });
    expect((await service.webhook(labeled("In Progress"))).body).toMatchObject({ canonical_triggers: ["module_update.started"] });
    await run(2);
    expect((await service.webhook(issueClosed(about))).body).toMatchObject({ canonical_triggers: ["module_update.finished"] });
    const ran = await run(3);
    expect(ran.map(({ task_id, agent_id }) => [task_id, agent_id])).toEqual([
      ["quality_verification", "qa_default"],
      ["tech_discovery_review", "ta_default"],
      ["triage_initial_intent", "pm_default"],
    ]);
    expect((await service.get<unknown[]>(`/api/task-executions?project_id=${made.body.project.id}`)).body).toHaveLength(3);
    expect(tracker.comments(repo, 1).length).toBeGreaterThanOrEqual(3);

    // Issues of other projects are handled as usual.
    const other = await service.webhook(issueOpened({ repo: "octo/app", number: 9, sender: "mona" }));
    expect(other.body).toMatchObject({ canonical_triggers: ["issue.created"] });

    expect(await service.post(tearDown)).toMatchObject({
      status: 200,
      body: { status: "torn_down", project_deleted: true, issue_closed: true },
    });
    expect(tracker.issue(repo, 1)?.state).toBe("closed");
    expect(await leftovers(service)).toEqual([]);
    expect((await service.get<unknown[]>("/api/agents")).body).toHaveLength(5);
    expect((await service.get<unknown[]>("/api/tasks")).body).toHaveLength(9);
    expect(await service.post(tearDown)).toMatchObject({
      status: 200,
      body: { status: "nothing_to_do", project_deleted: false },
    });
  });

  test("a PM of one's own analyses instead of the default one", { timeout: 60_000 }, async () => {
    expect(await service.post(setUp, { pm_agent_id: "nobody" })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("nobody") },
    });
    await service.post("/api/agents", { id: "my_pm", name: "My PM", role_id: "pm", prompt: "Be brief." });
    const own = { pm_agent_id: "my_pm", project_id: "octo/own" };
    const made = await service.post<SetUp>(setUp, own);
    expect(await service.post(setUp, own)).toMatchObject({ status: 200, body: made.body });
    for (const [member, value] of Object.entries({ source: "gamma", pm_agent_id: "pm_default", project_id: "octo/other" }))
      expect(await service.post(setUp, { [member]: value })).toMatchObject({
        status: 409,
        body: { error: expect.stringMatching(`^${member}: .*teardown`) },
      });
    expect(made).toMatchObject({
      status: 200,
      body: { agents_verified: ["my_pm", "ta_default", "qa_default"], project: { project_id: "octo/own" } },
    });
    const [execution] = await eventually(async () => {
      const { body } = await service.get<{ agent_id: string; state: string }[]>(
        `/api/task-executions?project_id=${made.body.project.id}`,
      );
      return body[0]?.state === "succeeded" && body;
    });
    expect(execution).toMatchObject({ agent_id: "my_pm" });
    await service.post(tearDown);
    expect((await service.get<unknown[]>("/api/tasks")).body).toHaveLength(9);
  });

  test("a refusal of the tracker is 502, and the teardown removes what was created before", async () => {
    tracker.fault({ method: "POST", path: "/issues$", status: 404, times: 0 });
    expect(await service.post(setUp)).toMatchObject({ status: 502, body: { error: expect.stringMatching(/project_id/) } });
    tracker.clearFaults();
    expect(await service.post(tearDown)).toMatchObject({ status: 200, body: { project_deleted: true } });
    expect(await leftovers(service)).toEqual([]);
  });

  test("invalid input is refused", async () => {
    for (const path of ["/api/use-cases/nothing/setup", "/api/use-cases/nothing/teardown"])
      expect(await service.post(path)).toMatchObject({ status: 404, body: { error: expect.stringContaining("module-update") } });
    expect((await service.post(setUp, { source: "omega" })).status).toBe(400);
    expect((await service.post(setUp, { project_context: { team_size: 5 } })).status).toBe(400);
    const theirs = { name: "Theirs", source: "alpha", source_project_id: repo };
    const { body } = await service.post<{ id: number }>("/api/projects", theirs);
    expect(await service.post(setUp)).toMatchObject({ status: 409, body: { error: expect.stringContaining(repo) } });
    await service.post(tearDown);
    expect((await service.get(`/api/projects/${body.id}`)).status).toBe(200);
  });
});

test("without a tracker the project and its routing are still created", { timeout: 120_000 }, async () => {
  await using service = await startService({ seed: true });
  const made = await service.post<SetUp>(setUp);
  expect(made).toMatchObject({ status: 200, body: { tracker_issue: null, project: { project_id: repo } } });
  expect(made.body.next_steps.join("\n")).toContain("POST /webhook/alpha");
  await service.kill();
  await service.restart();
  expect((await service.post(setUp)).body).toEqual(made.body);
  expect((await service.webhook(issueOpened({ repo, number: 4 }))).body).toMatchObject({
    canonical_triggers: ["module_update.created"],
    executions: [{ task_id: "triage_initial_intent" }],
  });
  expect((await service.post(tearDown)).body).toMatchObject({ project_deleted: true, issue_closed: false });
  // jq accepts every platform's filters.
  for (const source of ["beta", "gamma", "delta"]) {
    expect((await service.post(setUp, { source })).body).toMatchObject({ status: "ready", tracker_issue: null });
    expect((await leftovers(service)).length).toBe(7);
    await service.post(tearDown);
  }
});
