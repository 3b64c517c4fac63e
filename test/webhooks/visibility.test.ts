import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { type BetaTracker, startTracker } from "../../plugins/beta/test-tracker.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, hourLasts, waitForExecutions } from "../harness/wait.ts";
import type { Receipt } from "../harness/webhooks.ts";
import { plainScript } from "../harness/world.ts";

describe("an internal note", () => {
  let model: Model;
  let tracker: BetaTracker;
  let service: Service;
  let last = 0;
  beforeAll(async () => {
    model = await startModel({ script: plainScript });
    tracker = await startTracker();
    tracker.add("issues", 12, "2026-01-01T00:00:00Z");
    tracker.members[5] = 30;
    const env = { LLM_BASE_URL: model.url, LLM_MODEL: "scripted", BETA_URL: tracker.url, BETA_TOKEN: "test-token-1" };
    service = await startService({ seed: true, env });
    const named = { source: "beta", event_name: "Confidential Note Hook", action: null, canonical_trigger: "note.seen" };
    for (const [path, body] of [
      ["/api/tasks/sources", named],
      ["/api/tasks/triggers", { canonical_trigger: "note.seen", task_id: "customer_uat_sync" }],
    ] as const)
      expect((await service.post(path, body)).status).toBe(201);
  }, 180_000);
  afterAll(async () => {
    await tracker?.close();
    await model?.close();
    await service?.close();
  }, 60_000);

  const send = async (internal = true) => {
    const payload = {
      object_kind: "note",
      event_type: internal ? "confidential_note" : "note",
      user: { id: 5, username: "ann" },
      project: { id: 77, path_with_namespace: "octo/team/app" },
      object_attributes: { id: ++last, note: "What do we do?", noteable_type: "Issue", internal },
      issue: { iid: 12, title: "Crash", state: "opened" },
    };
    const headers = { "x-gitlab-event": internal ? "Confidential Note Hook" : "Note Hook", "x-gitlab-token": "test-token-1" };
    const { status, body } = await service.post<Receipt>("/webhook/beta", payload, { headers });
    expect(status).toBe(202);
    return body;
  };
  const ended = async () => {
    const { event_id } = await send();
    const [{ id } = { id: "" }] = await waitForExecutions(service, { event_id, count: 1, state: "succeeded" });
    const { body } = await service.get<{ error: string | null; result_url: string | null }>(`/api/task-executions/${id}`);
    return body;
  };

  test("is answered by an internal note", async () => {
    expect(await ended()).toMatchObject({ error: null, result_url: expect.stringContaining("#note_") });
    expect(tracker.notes).toMatchObject([{ of: "issues/12", internal: true }]);
  });

  test("is not answered if the platform would publish the answer, and the execution says so", async () => {
    tracker.internal = false;
    expect(await ended()).toMatchObject({ error: expect.stringContaining("nothing was posted"), result_url: null });
    expect(tracker.notes).toHaveLength(1);
    tracker.internal = true;
  });

  test("is answered internally also by a living comment, an approved proposal, and the notice of a hold", async () => {
    const written = async (
      policy: object,
      state: "succeeded" | "waiting" | "held",
      then: (id: string) => Promise<unknown> = async () => {},
    ) => {
      const before = tracker.notes.length;
      expect((await service.put("/api/agents/pm_default", { policy })).status).toBe(200);
      const { event_id } = await send();
      const [{ id } = { id: "" }] = await waitForExecutions(service, { event_id, count: 1, state });
      await then(id);
      await eventually(() => tracker.notes.length > before);
      return tracker.notes.slice(before);
    };
    const approve = async (id: string) => expect((await service.post(`/api/task-executions/${id}/approve`, {})).status).toBe(200);
    await hourLasts();
    for (const notes of [
      await written({ presence: "comment" }, "succeeded"),
      await written({ staged: true }, "waiting", approve),
      await written({ issue_runs_per_hour: 1 }, "held"),
    ])
      expect(notes).toMatchObject([{ of: "issues/12", internal: true }]);
    expect((await service.put("/api/agents/pm_default", { policy: {} })).status).toBe(200);
  });

  test("what only members can read is in the prompt of no run whose answer is public", async () => {
    const open = { source: "beta", event_name: "Note Hook", action: null, canonical_trigger: "note.seen" };
    expect((await service.post("/api/tasks/sources", open)).status).toBe(201);
    tracker.add("issues", 13, "2026-01-01T00:00:00Z", { confidential: true, title: "The secret plan" });
    tracker.note("issues/12", "For everyone.", "2026-01-01T00:00:00Z", "ann");
    Object.assign(tracker.note("issues/12", "Only among members.", "2026-01-01T00:00:00Z", "ann"), { internal: true });
    const asked = [12, 13].map((issue) => ({ name: "beta__get_issue", arguments: { issue } }));
    const read = async (isPrivate: boolean) => {
      model.answerWith({ reply: { tool_calls: asked } });
      const { event_id } = await send(isPrivate);
      const [{ id } = { id: "" }] = await waitForExecutions(service, { event_id, count: 1, state: "succeeded" });
      return JSON.stringify((await service.get(`/api/task-executions/${id}`)).body);
    };
    const shown = await read(false);
    expect(shown).toContain("For everyone.");
    expect(shown).toContain("the issue is confidential");
    expect(shown).not.toMatch(/Only among members|The secret plan/);
    expect(await read(true)).toMatch(/(?=.*Only among members)(?=.*The secret plan)/s);
  });

  test("its author's standing is looked up after the response, and later events have it", async () => {
    await eventually(async () => {
      const { event_id } = await send();
      const { body } = await service.get<{ author: { standing: string } }>(`/api/webhook-events/${event_id}`);
      return body.author.standing === "member";
    });
  });
});
