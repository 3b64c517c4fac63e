import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { project as deltaProject, states } from "../../plugins/delta/test-tracker.ts";
import * as beta from "../harness/beta-payloads.ts";
import * as delta from "../harness/delta-payloads.ts";
import * as gamma from "../harness/gamma-payloads.ts";
import { type Service, startService } from "../harness/service.ts";
import { startTrackers, trackersEnv } from "../harness/trackers.ts";
import { eventually } from "../harness/wait.ts";
import type { Receipt } from "../harness/webhooks.ts";
import { plainScript } from "../harness/world.ts";

interface SetUp {
  readonly project: { readonly id: number; readonly project_id: string };
  readonly tracker_issue: { readonly key: string; readonly url: string };
}
interface Ran {
  readonly task_id: string;
  readonly state: string;
}

describe("the use case module-update at the trackers beside alpha", () => {
  let model: Model;
  let service: Service;
  let trackers: Awaited<ReturnType<typeof startTrackers>>;
  beforeAll(async () => {
    model = await startModel({ script: plainScript });
    trackers = await startTrackers();
    const env = { LLM_BASE_URL: model.url, LLM_MODEL: "scripted", ...trackersEnv(trackers) };
    service = await startService({ seed: true, env });
  }, 180_000);
  afterAll(async () => {
    for (const tracker of Object.values(trackers ?? {})) await tracker.close();
    await model?.close();
    await service?.close();
  }, 60_000);

  const proofs = { beta: { "x-gitlab-token": "test-token-1" }, gamma: {}, delta: { "x-api-key": "test-key-1" } };
  const send = async (source: keyof typeof proofs, payload: object, event?: string) => {
    const headers = { ...proofs[source], ...(event ? { "x-gitlab-event": event } : {}) };
    return (await service.post<Receipt>(`/webhook/${source}`, JSON.stringify(payload), { headers })).body;
  };
  const ran = (project: number, count: number) =>
    eventually(
      async () => {
        const { body } = await service.get<Ran[]>(`/api/task-executions?project_id=${project}`);
        return body.length === count && body.every(({ state }) => state === "succeeded") && body.map(({ task_id }) => task_id);
      },
      { timeout: 30_000 },
    );
  const setUp = async (source: string, project_id: string) => {
    const made = await service.post<SetUp>("/api/use-cases/module-update/setup", { source, project_id });
    expect(made.status, JSON.stringify(made.body)).toBe(200);
    await ran(made.body.project.id, 1);
    return made.body;
  };
  const started = { canonical_triggers: ["module_update.started"] };
  const finished = { canonical_triggers: ["module_update.finished"] };
  const analyses = ["quality_verification", "tech_discovery_review", "triage_initial_intent"];
  const tearDown = async () => {
    const { status, body } = await service.post("/api/use-cases/module-update/teardown");
    expect({ status, body }).toEqual({ status: 200, body: { status: "torn_down", project_deleted: true, issue_closed: true } });
  };

  test("beta: by a label, and by closing", async () => {
    const project = "octo/team/app";
    const made = await setUp("beta", project);
    expect(made.tracker_issue).toEqual({ key: `${project}#1`, url: expect.stringContaining("/issues/1") });
    const own = { ...beta.issueOpened(project, 1), user: { username: "signalbox-bot" } };
    expect(await send("beta", own, "Issue Hook")).toMatchObject({ status: "discarded" });
    expect(await send("beta", beta.issueLabeled(project, 1, "backend"), "Issue Hook")).toMatchObject({ status: "discarded" });
    expect(await send("beta", beta.issueLabeled(project, 1, "In Progress"), "Issue Hook")).toMatchObject(started);
    await ran(made.project.id, 2);
    expect(await send("beta", beta.issueClosed(project, 1), "Issue Hook")).toMatchObject(finished);
    expect(await ran(made.project.id, 3)).toEqual(analyses);
    expect(trackers.beta.comments({ project, issue: "1" })).toHaveLength(3);
    const elsewhere = await send("beta", beta.issueClosed("octo/other", 1), "Issue Hook");
    expect(elsewhere).toMatchObject({ canonical_triggers: ["issue.closed"] });
    await tearDown();
    expect(trackers.beta.items[0]).toMatchObject({ state: "closed" });
  });

  test("beta, polled: by a label", async () => {
    const project = "octo/team/app";
    const made = await setUp("beta", project);
    const since = new Date().toISOString();
    const issue = `issues/${made.tracker_issue.key.split("#")[1]}`;
    trackers.beta.relabel(issue, { add: ["In Progress"] }, new Date().toISOString());
    const body = { source: "beta", project_id: project, interval_minutes: 60, enabled: false, since };
    const { id } = (await service.post<{ id: number }>("/api/poll-sources", body)).body;
    expect((await service.post(`/api/poll-sources/${id}/poll`)).status).toBe(200);
    expect(await ran(made.project.id, 2)).toEqual(analyses.slice(1));
    await tearDown();
  });

  test("gamma: by moves through the workflow", async () => {
    const made = await setUp("gamma", "APP");
    expect(made.tracker_issue).toEqual({ key: "APP-1", url: `${trackers.gamma.url}/browse/APP-1` });
    expect(await send("gamma", gamma.issueMoved("APP-1", "To Do", "In Progress"))).toMatchObject(started);
    await ran(made.project.id, 2);
    expect(await send("gamma", gamma.issueMoved("APP-1", "In Progress", "Done"))).toMatchObject(finished);
    expect(await ran(made.project.id, 3)).toEqual(analyses);
    expect(trackers.gamma.comments({ project: "APP", issue: "APP-1" })).toHaveLength(3);
    const elsewhere = await send("gamma", gamma.issueMoved("OTHER-1", "In Progress", "Done"));
    expect(elsewhere).toMatchObject({ canonical_triggers: ["issue.updated"] });
    await tearDown();
    expect(trackers.gamma.issues[0]?.fields.status.name).toBe("Done");
  });

  test.each(["name", "id"] as const)("delta: by moves that name the state's %s", async (by) => {
    const made = await setUp("delta", "app");
    expect(made.project.project_id).toBe(deltaProject);
    const issue = made.tracker_issue.key;
    const move = (from: delta.State, to: delta.State) => send("delta", delta.issueMoved(deltaProject, issue, from, to, by));
    expect(await send("delta", delta.issueRenamed(deltaProject, issue, "In Progress"))).toMatchObject({
      canonical_triggers: ["issue.updated"],
    });
    expect(await move("Todo", "In Progress")).toMatchObject(started);
    await ran(made.project.id, 3);
    expect(await move("In Progress", "Done")).toMatchObject(finished);
    expect((await ran(made.project.id, 4)).filter((task) => task !== "customer_uat_sync")).toEqual(analyses);
    expect(trackers.delta.comments({ project: deltaProject, issue })).toHaveLength(4);
    await tearDown();
    expect(trackers.delta.issues.find(({ id }) => id === issue)?.state).toBe(states.done);
  });

  test("delta: by a move that names both states, as the neutral payload does", async () => {
    const made = await setUp("delta", deltaProject);
    const { data } = delta.issueMoved(deltaProject, made.tracker_issue.key, "Todo", "Done");
    const told = (changes: object) => ({
      event: "issue.updated",
      data: { ...data, state: "Done", project_id: deltaProject, changes },
    });
    expect(await send("delta", told({ state: { old: "Todo", new: "in progress" } }))).toMatchObject(started);
    expect(await send("delta", told({ state: { old: "in progress", new: "Closed" } }))).toMatchObject(finished);
    await ran(made.project.id, 3);
    await tearDown();
  });

  test("an unknown project is refused with the list of existing ones", async () => {
    const answer = await service.post("/api/use-cases/module-update/setup", { source: "delta", project_id: "NOPE" });
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(/^project_id: .*"NOPE".*APP, OTHER/) } });
  });
});
