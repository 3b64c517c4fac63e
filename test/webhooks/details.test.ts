import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import {
  type DeltaTracker,
  project as deltaProject,
  people,
  startTracker as startDelta,
  states,
  workspace,
} from "../../plugins/delta/test-tracker.ts";
import { type GammaTracker, startTracker as startGamma } from "../../plugins/gamma/test-tracker.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import type { Receipt } from "../harness/webhooks.ts";
import { plainScript } from "../harness/world.ts";

const item = "0c6d9f12-52b5-4f0e-9d2f-6c1c2c7b3e77";

describe("missing facts are looked up when a task runs, and private stays private", () => {
  let model: Model;
  let service: Service;
  let gamma: GammaTracker;
  let delta: DeltaTracker;

  beforeAll(async () => {
    model = await startModel({ script: plainScript });
    [gamma, delta] = await Promise.all([startGamma(2), startDelta()]);
    const env = {
      LLM_BASE_URL: model.url,
      LLM_MODEL: "scripted",
      UPDATE_DEBOUNCE_SECONDS: "0",
      GAMMA_URL: gamma.url,
      GAMMA_API_TOKEN: "t",
      GAMMA_IS_CLOUD: "false",
      DELTA_API_URL: delta.url,
      DELTA_API_KEY: "test-key-1",
      DELTA_WORKSPACE_SLUG: workspace,
    };
    service = await startService({ seed: true, env });
    await service.post("/api/tasks/sources", {
      source: "delta",
      event_name: "issue.activity.created",
      canonical_trigger: "issue.commented",
    });
    await service.post("/api/tasks/triggers", { canonical_trigger: "issue.commented", task_id: "customer_uat_sync" });
    gamma.addIssue("APP-12", new Date().toISOString(), { summary: "Crash at start", labels: ["bug"] });
    delta.addIssue(item, new Date().toISOString(), { name: "Late parcels", state: states.done });
  }, 120_000);
  afterAll(async () => {
    await service?.close();
    await Promise.all([model?.close(), gamma?.close(), delta?.close()]);
  }, 60_000);

  const send = async (source: string, payload: object) => {
    const headers = source === "delta" ? { "x-api-key": "test-key-1" } : {};
    const { status, body } = await service.post<Receipt>(`/webhook/${source}`, JSON.stringify(payload), { headers });
    expect(status).toBe(202);
    return body;
  };
  const ran = async (source: string, payload: object) => {
    const { event_id } = await send(source, payload);
    const [execution] = await waitForExecutions(service, { event_id, count: 1 });
    expect(execution).toMatchObject({ state: "succeeded", error: null });
    const { body } = await service.get<{ subject: string; transcript: { input: { messages?: { content: string }[] } }[] }>(
      `/api/task-executions/${execution?.id}`,
    );
    return { subject: body.subject, prompt: body.transcript[0]?.input.messages?.at(-1)?.content ?? "", event_id };
  };
  const comment = (more: object = {}) => ({
    webhookEvent: "comment_created",
    comment: {
      self: `${gamma.url}/rest/api/2/issue/${gamma.issues[0]?.id}/comment/77`,
      id: "77",
      author: gamma.ann,
      body: "Me too.",
      ...more,
    },
  });

  test("a comment of Jira Server without its issue is answered at the issue, and the agent sees what it is about", async () => {
    const { subject, prompt, event_id } = await ran("gamma", comment());
    expect(subject).toBe("gamma:APP#APP-12");
    expect(prompt).toContain("Me too.");
    expect(prompt).toContain("- Title: Crash at start");
    expect(prompt).toContain("- Labels: bug");
    expect(prompt).toContain(`- Link: ${gamma.url}/browse/APP-12`);
    expect(gamma.comments({ project: "APP", issue: "APP-12" })).toHaveLength(1);
    expect((await service.get(`/api/webhook-events/${event_id}`)).body).toMatchObject({ subject: "gamma:APP#APP-12" });
  });

  test("a comment that Jira Server reports by two webhooks runs once, whichever is first", async () => {
    const times = { created: "2026-01-06T11:30:00.000+0000", updated: "2026-01-06T11:30:00.000+0000" };
    const post = (payload: object) => service.post<Receipt>("/webhook/gamma", JSON.stringify(payload));
    for (const [id, isUpdateFirst, hooks] of [
      ["90", true, {}],
      ["91", false, {}],
      ["92", true, { matchedWebhookIds: [7] }],
    ] as const) {
      const alone = {
        ...hooks,
        ...comment({ id, ...times, self: `${gamma.url}/rest/api/2/issue/${gamma.issues[0]?.id}/comment/${id}` }),
      };
      const update = {
        ...hooks,
        webhookEvent: "jira:issue_updated",
        issue_event_type_name: "issue_commented",
        user: gamma.ann,
        comment: alone.comment,
        issue: gamma.issues[0],
      };
      const [first, second] = isUpdateFirst ? [update, alone] : [alone, update];
      const before = (await service.get<object[]>("/api/task-executions?limit=1000")).body.length;
      const accepted = await post(first);
      expect(accepted.status).toBe(202);
      const duplicate = await post(second);
      expect([duplicate.status, duplicate.body.status, duplicate.body.event_id]).toEqual([
        200,
        "duplicate",
        accepted.body.event_id,
      ]);
      await waitForExecutions(service, { event_id: accepted.body.event_id, count: 1 });
      expect((await service.get<object[]>("/api/task-executions?limit=1000")).body.length).toBe(before + 1);
      // An edit of the comment is another change.
      const later = {
        ...alone,
        webhookEvent: "comment_updated",
        comment: { ...alone.comment, updated: "2026-01-06T11:31:00.000+0000" },
      };
      expect((await post(later)).body.status).not.toBe("duplicate");
    }
  });

  test("an internal note of Jira gets an internal comment", async () => {
    await ran("gamma", comment({ jsdPublic: false, id: "78" }));
    expect(gamma.notes.at(-1)?.properties).toContainEqual({ key: "sd.public.comment", value: { internal: true } });
  });

  test("a move at Plane names both states", async () => {
    const { prompt } = await ran("delta", {
      version: "v2",
      event: "workitem.updated",
      event_id: "e-1",
      entity_id: item,
      entity_type: "issue",
      webhook_id: "w",
      data: { id: item, name: "Late parcels", project_id: deltaProject, state_id: states.done, updated_by_id: people.ann },
      previous_attributes: { state_id: states.todo },
    });
    expect(prompt).toContain("- state: todo → done");
    expect(prompt).toContain("- State: done");
    expect(prompt).toContain("- Author: ann");
  });

  test("an internal comment of Plane, which names no project, gets an internal comment", async () => {
    const { subject } = await ran("delta", {
      version: "v2",
      event: "workitem.comment.created",
      event_id: "e-2",
      entity_id: item,
      entity_type: "issue",
      data: {
        id: item,
        comment: { id: "c-9", access: "INTERNAL", actor_id: people.ann, issue_id: item, comment_stripped: "Hi" },
      },
      previous_attributes: {},
    });
    expect(subject).toBe(`delta:${deltaProject}#${item}`);
    expect(delta.notes.at(-1)).toMatchObject({ access: "INTERNAL", issue: item });
  });

  test("a look-up that fails does not fail the run", async () => {
    const before = model.chats().length;
    await send("gamma", {
      webhookEvent: "comment_created",
      comment: { id: "79", author: gamma.ann, body: "Gone?" },
      issue: { key: "APP-404" },
    });
    await eventually(() => model.chats().length > before);
  });

  test("the reason of an event says if its trigger has no task", async () => {
    await service.post("/api/tasks/sources", {
      source: "gamma",
      event_name: "worklog_created",
      canonical_trigger: "work.logged",
    });
    const { event_id, executions } = await send("gamma", { webhookEvent: "worklog_created", worklog: { issueId: "1", id: "2" } });
    expect(executions).toEqual([]);
    expect((await service.get(`/api/webhook-events/${event_id}`)).body).toMatchObject({
      outcome: "dispatched",
      reason: expect.stringContaining("no task is mapped to the trigger work.logged"),
    });
  });
});
