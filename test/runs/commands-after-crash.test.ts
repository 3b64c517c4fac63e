import { afterAll, beforeAll, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { closeFour, type FourTrackers, fourEnv, newIssue, seedLook, startFour } from "../harness/four-sources.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import type { Receipt } from "../harness/webhooks.ts";
import { plainScript } from "../harness/world.ts";

describeOnDatabases("a command that waits for an answer of its platform", (database) => {
  let model: Model;
  let service: Service;
  let trackers: FourTrackers;

  beforeAll(async () => {
    model = await startModel({ script: plainScript });
    trackers = await startFour();
    const env = { LLM_BASE_URL: model.url, LLM_MODEL: "scripted", EXECUTION_LEASE_SECONDS: "2", ...fourEnv(trackers, "t") };
    service = await startService({ database, env });
    await seedLook(service);
  }, 180_000);
  afterAll(() => closeFour(trackers, model, service), 60_000);

  const send = async (path: string, payload: object, headers: Readonly<Record<string, string>> = {}) => {
    const { body } = await service.post<Receipt>(`/webhook/${path}`, payload, { headers });
    return body.event_id;
  };
  const event = async (id: string) => (await service.get<{ reason: string; outcome: string }>(`/api/webhook-events/${id}`)).body;
  const hangs = (source: "beta" | "gamma", path: RegExp) => {
    trackers[source].fault({ kind: "hang", times: 1, path });
    const before = trackers[source].requests.length;
    return () => eventually(() => trackers[source].requests.slice(before).some((one) => path.test(one.path)));
  };

  /** Sends `/approve` by a developer whom no event has named so far, as the only webhook of its comment. */
  async function approve(user: number, iid: number): Promise<string> {
    trackers.beta.members[user] = 30;
    const author = { id: user, username: `person-${user}`, name: `person-${user}` };
    const note = { id: 10_000 + user, note: "/approve", noteable_type: "Issue", action: "create" };
    const project = { id: 77, path_with_namespace: "octo/team/app" };
    const comment = { object_kind: "note", event_type: "note", user: author, object_attributes: note, project };
    const headers = { "x-gitlab-event": "Note Hook", "x-gitlab-token": "test-token-1" };
    const asked = hangs("beta", /\/members\/all/);
    const id = await send("beta", { ...comment, issue: { iid, title: "Crash", state: "opened" } }, headers);
    await asked();
    return id;
  }

  test.each(["SIGKILL", "SIGTERM"] as const)("an approval is carried out once, after %s while it waits", async (signal) => {
    expect((await service.put("/api/agents/pm_default", { policy: { staged: true } })).status).toBe(200);
    const n = signal === "SIGKILL" ? 61 : 62;
    const { payload, headers, comments } = newIssue(trackers, "beta", n, "Since Monday.");
    const opened = await send("beta", payload, headers);
    await waitForExecutions(service, { event_id: opened, state: "waiting" });
    const approved = await approve(100 + n, n);
    expect((await event(approved)).reason).toMatch(/^\/approve waits for the standing of person-\d+/);
    await service.kill(signal);
    trackers.beta.heal();
    await service.restart();
    await waitForExecutions(service, { event_id: opened, state: "succeeded" });
    expect(await event(approved)).toMatchObject({
      outcome: "dispatched",
      reason: expect.stringMatching(/^\/approve by beta:person-\d+: proposals of 1 execution approved$/),
    });
    expect(comments()).toHaveLength(1);
  });

  test("/stop by the id of an issue also stops what is stored under its key, after kill -9 before its key is known", async () => {
    await service.post("/api/pause", { scope: "source", id: "gamma", reason: "It must stay queued." });
    const { payload, headers } = newIssue(trackers, "gamma", 63, "Since Monday.");
    const opened = await send("gamma", payload, headers);
    const { id } = trackers.gamma.issues.find(({ key }) => key === "APP-63") ?? {};
    const self = `${trackers.gamma.url}/rest/api/2/issue/${id}/comment/70063`;
    const author = { name: "bob", key: "bob", displayName: "Bob" };
    const at = "2026-01-06T11:30:00.000+0000";
    const comment = { self, id: "70063", author, updateAuthor: author, body: "/stop", created: at, updated: at };
    const asked = hangs("gamma", new RegExp(`/issue/${id}`));
    const stop = await send("gamma", { timestamp: 1_767_699_000_063, webhookEvent: "comment_created", comment });
    await asked();
    expect((await event(stop)).reason).toMatch(/0 executions cancelled; its issue is being looked up/);
    await service.kill();
    trackers.gamma.heal();
    await service.restart();
    await waitForExecutions(service, { event_id: opened, state: "cancelled" });
    expect(await event(stop)).toMatchObject({
      outcome: "dispatched",
      subject: "gamma:APP#APP-63",
      reason: expect.stringMatching(/^\/stop by .*: 1 execution cancelled$/),
    });
  });

  test("commands that wait when commands are switched off are not carried out, and say so", async () => {
    expect((await service.put("/api/agents/pm_default", { policy: { staged: true } })).status).toBe(200);
    const { payload, headers, comments } = newIssue(trackers, "beta", 64, "Since Monday.");
    const opened = await send("beta", payload, headers);
    await waitForExecutions(service, { event_id: opened, state: "waiting" });
    const approved = await approve(164, 64);
    await service.kill();
    trackers.beta.heal();
    await service.restart({ COMMANDS_ENABLED: "false" });
    await eventually(async () =>
      expect(await event(approved)).toMatchObject({
        outcome: "discarded",
        reason: "/approve was not carried out, because COMMANDS_ENABLED was false when it was due: write it again",
      }),
    );
    expect(comments()).toEqual([]);
  });
});
