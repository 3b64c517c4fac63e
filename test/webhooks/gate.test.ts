import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueCommented, issueEdited, issueOpened } from "../harness/alpha-payloads.ts";
import * as beta from "../harness/beta-payloads.ts";
import * as gamma from "../harness/gamma-payloads.ts";
import { expectRefused } from "../harness/refused.ts";
import { type Service, startService } from "../harness/service.ts";
import type { Receipt } from "../harness/webhooks.ts";

let service: Service;
beforeAll(async () => {
  service = await startService({ seed: true, env: { TRIGGER_ALLOWED_BOTS: "good-bot" } });
});
afterAll(() => service?.close());

const send = (payload: object) => service.post<Receipt>("/webhook/gamma", JSON.stringify(payload));
/** The event as it is stored. */
const stored = async (payload: object) => {
  const { status, body } = await send(payload);
  const event = (
    await service.get<{ outcome: string; reason: string | null; executions: unknown[] }>(`/api/webhook-events/${body.event_id}`)
  ).body;
  return { ...event, status, receipt: body };
};
let issues = 0;
const created = (by: Record<string, unknown> = {}) => {
  const payload = gamma.issueCreated(`APP-${++issues}`);
  return { ...payload, user: { ...payload.user, ...by } };
};
const bot = { accountType: "app", accountId: "bot-1", displayName: "A rule" };

test("a payload is explained, mapping by mapping and limit by limit, and nothing is stored", async () => {
  interface Explanation {
    readonly reason: string | null;
    readonly canonical_trigger: string | null;
    readonly tasks: readonly { readonly task_id: string; readonly starts: boolean; readonly checks: { reason: string }[] }[];
  }
  const explain = (payload: object) => service.post<Explanation>("/api/tasks/resolve", { source: "gamma", payload });
  const before = (await service.get<unknown[]>("/api/webhook-events")).body.length;
  const person = await explain(created());
  expect(person).toMatchObject({
    status: 200,
    body: {
      outcome: "dispatched",
      reason: null,
      canonical_trigger: "issue.created",
      subject: expect.stringMatching(/^gamma:APP#APP-/),
    },
  });
  expect(person.body.tasks.map(({ task_id, starts }) => [task_id, starts])).toEqual([
    ["triage_initial_intent", true],
    ["tech_discovery_review", true],
  ]);
  const app = await explain(created(bot));
  expect(app.body).toMatchObject({ outcome: "discarded", reason: expect.stringContaining("TRIGGER_ALLOWED_BOTS") });
  expect(app.body.tasks.every(({ starts }) => !starts)).toBe(true);
  const unmapped = await explain({ webhookEvent: "sprint_started" });
  expect(unmapped.body).toMatchObject({ outcome: "discarded", canonical_trigger: null, tasks: [] });
  expect((await service.get<unknown[]>("/api/webhook-events")).body.length).toBe(before);
});

test.each([
  ["MEMBER", "dispatched", "/stop is carried out instead of starting tasks", true],
  ["NONE", "discarded", "/stop requires the standing collaborator or higher, and mona has the standing none", false],
])("a command by the association %s is explained, and %s", async (author_association, outcome, reason, passes) => {
  const payload = issueCommented({ repo: "octo/app", number: 1, comment: "/stop" }, { comment: { author_association } });
  const headers = { "X-GitHub-Event": "issue_comment" };
  const { body } = await service.post<{ checks: object[]; tasks: object[] }>("/api/tasks/resolve", {
    source: "alpha",
    headers,
    payload,
  });
  expect(body).toMatchObject({ outcome, reason, tasks: [] });
  expect(body.checks).toContainEqual(expect.objectContaining({ check: "command", passes }));
});

test("an approval by an author whose standing must be looked up is explained as waiting", async () => {
  const payload = beta.noteWritten("octo/group/app", 7, "/approve");
  const { body } = await service.post("/api/tasks/resolve", {
    source: "beta",
    headers: { "X-Gitlab-Event": "Note Hook" },
    payload,
  });
  expect(body).toMatchObject({
    outcome: "discarded",
    reason: expect.stringMatching(/^\/approve waits for the standing of \w+/),
    tasks: [],
  });
});

test("an explanation gives the outcome and the reason that the event gets", async () => {
  const explained = async (payload: object) => {
    const { body } = await service.post<{ outcome: string; reason: string }>("/api/tasks/resolve", { source: "gamma", payload });
    return body;
  };
  const deleted = (issue: string) => ({ ...gamma.issueCreated(issue), webhookEvent: "gamma:issue_deleted" });
  const source = { source: "gamma", event_name: "gamma:issue_deleted", canonical_trigger: "issue.vanished" };
  expect((await service.post("/api/tasks/sources", source)).status).toBe(201);
  const same = async (payload: object, outcome: string, reason: RegExp) => {
    expect(await explained(payload)).toMatchObject({ outcome, reason: expect.stringMatching(reason) });
    const { reason: given } = await explained(payload);
    expect(await stored(payload)).toMatchObject({ outcome, reason: given, executions: [] });
  };
  await same(deleted("APP-901"), "dispatched", /^no task is mapped to the trigger issue\.vanished: map one with POST /);
  await service.post("/api/tasks", { id: "gone", name: "Gone", description: "Go.", actor_id: "pm_default" });
  const mapping = { canonical_trigger: "issue.vanished", task_id: "gone" };
  expect((await service.post("/api/tasks/triggers", mapping)).status).toBe(201);
  expect((await service.del("/api/tasks/gone")).status).toBeLessThan(300);
  await same(deleted("APP-902"), "dispatched", /^the task gone, to which issue\.vanished is mapped, does not exist$/);
  await same(created(bot), "discarded", /TRIGGER_ALLOWED_BOTS/);
  for (const id of Array.from({ length: 9 }, (_, n) => `gone_${n}`)) {
    await service.post("/api/tasks", { id, name: "Gone", description: "Go.", actor_id: "pm_default" });
    await service.post("/api/tasks/triggers", { canonical_trigger: "issue.vanished", task_id: id });
    await service.del(`/api/tasks/${id}`);
  }
  await same(deleted("APP-909"), "dispatched", /^.{500}$/);
});

describe("who starts runs", () => {
  test("a person does; an unlisted app's event is stored with the reason, and an operator can replay it", async () => {
    expect(await stored(created())).toMatchObject({ status: 202, outcome: "dispatched", reason: null });
    const refused = await stored(created(bot));
    expect(refused).toMatchObject({ status: 200, outcome: "discarded", executions: [], receipt: { status: "discarded" } });
    expect(refused.reason).toMatch(/A rule is (a bot|an app), and TRIGGER_ALLOWED_BOTS in the settings does not name it/);
    const replayed = await service.post<Receipt>(`/api/webhook-events/${refused.receipt.event_id}/replay`);
    expect(replayed).toMatchObject({ status: 202, body: { executions: [expect.anything(), expect.anything()] } });
    expect(await stored(created({ ...bot, accountId: "good-bot" }))).toMatchObject({ outcome: "dispatched" });
  });

  test("a project and an agent narrow it, for their events and tasks only", async () => {
    const payload = {
      name: "Strict",
      source: "gamma",
      source_project_id: "APP",
      policy: { trigger_allowed_bots: [] as string[] },
    };
    const project = await service.post<{ id: number }>("/api/projects", payload);
    const refused = await stored(created({ ...bot, accountId: "good-bot" }));
    expect(refused.reason).toMatch(/trigger_allowed_bots in the policy of the project/);
    await service.del(`/api/projects/${project.body.id}`);
    // Of the two tasks that the trigger fires, one is this agent's.
    await service.put("/api/agents/pm_default", { policy: { trigger_allowed_bots: ["other"] } });
    const partly = await stored(created({ ...bot, accountId: "good-bot" }));
    expect(partly).toMatchObject({ status: 202, outcome: "dispatched", executions: [{ task_id: "tech_discovery_review" }] });
    expect(partly.reason).toMatch(/trigger_allowed_bots in the policy of the agent/);
    await service.put("/api/agents/pm_default", { policy: {} });
    expect(await stored(created({ ...bot, accountId: "good-bot" }))).toMatchObject({ executions: [{}, {}], reason: null });
  });
});

test("a title hides no mention, whatever it looks like", async () => {
  const task = await service.post("/api/tasks", { id: "titled", name: "Titled", description: "x", actor_id: "pm_default" });
  expect(task.status).toBe(201);
  const mapping = { canonical_trigger: "issue.created", task_id: "titled", conditions: { mention: "@helper" } };
  expect((await service.post("/api/tasks/triggers", mapping)).status).toBe(201);
  const started = async (title: string, body: string) => {
    const { status, body: receipt } = await service.webhook(issueOpened({ repo: "octo/titles", number: ++issues, title, body }));
    expect(status).toBe(202);
    return receipt.executions?.some(({ task_id }) => task_id === "titled");
  };
  expect(await started("Broken <!--", "Hello @helper!\n\n<!-- Fill in. -->")).toBe(true);
  expect(await started("For @helper <!-- now", "It fails.")).toBe(true);
  expect(await started("Broken", "It fails.\n\n<!-- Ask @helper. -->")).toBe(false);
  expect(await started("Broken `@helper`", "It fails.")).toBe(false);
  const renamed = issueEdited({ repo: "octo/titles", number: ++issues, body: "Hello @helper!\n\n<!-- Fill in. -->" });
  const changes = { ...renamed, changes: { title: { from: "Broken <!--" } } };
  const edits = { source: "alpha", event_name: "issues", action: "edited", canonical_trigger: "issue.created" };
  expect((await service.post("/api/tasks/sources", edits)).status).toBe(201);
  expect((await service.webhook(changes)).body.executions?.some(({ task_id }) => task_id === "titled")).toBe(true);
});

test("conditions of a mapping are listed and checked, and refusals have a reason", async () => {
  const conditions = { mention: "@signalbox", label: "agent", projects: ["APP"] };
  const mapping = { canonical_trigger: "issue.commented", task_id: "customer_uat_sync", conditions };
  expect(await service.post("/api/tasks/triggers", mapping)).toMatchObject({ status: 201, body: { conditions } });
  const listed = await service.get<{ task_id: string; canonical_trigger: string; conditions: unknown }[]>("/api/tasks/triggers");
  const found = listed.body.filter(({ canonical_trigger }) => canonical_trigger === "issue.commented");
  expect(found).toMatchObject([{ conditions }]);
  expect(listed.body.find(({ canonical_trigger }) => canonical_trigger === "pr.opened")?.conditions).toEqual({});
  const comment = (key: string, text: string, labels: string[]) => {
    const payload = gamma.commentCreated(key, text);
    const { fields } = payload.issue;
    return { ...payload, issue: { ...payload.issue, fields: { ...(fields as object), labels } } };
  };
  expect(await stored(comment("APP-1", "Hello @signalbox!", ["agent"]))).toMatchObject({ outcome: "dispatched", reason: null });
  const reasonOf = async (payload: object) => {
    const event = await stored(payload);
    expect(event).toMatchObject({ status: 200, outcome: "discarded", executions: [] });
    return event.reason;
  };
  expect(await reasonOf(comment("APP-2", "Hello signalbox!", ["agent"]))).toMatch(/does not mention @signalbox/);
  const template = "It fails.\n\n<!-- Mention @signalbox to start an analysis. -->";
  expect(await reasonOf(comment("APP-4", template, ["agent"]))).toMatch(/does not mention @signalbox/);
  expect(await stored(comment("APP-5", `@signalbox ${template}`, ["agent"]))).toMatchObject({ outcome: "dispatched" });
  expect(await reasonOf(comment("APP-3", "Hello @signalbox!", ["other"]))).toMatch(/does not have the label "agent"/);
  await service.post("/api/tasks", { id: "accent", name: "Accent", description: "x", actor_id: "pm_default" });
  const [one, two] = ["caf\u00e9", "cafe\u0301"];
  const accent = { ...mapping, task_id: "accent", conditions: { mention: `@${one}`, label: one } };
  expect((await service.post("/api/tasks/triggers", accent)).status).toBe(201);
  expect(await stored(comment("APP-6", `Hello @${two}!`, [two]))).toMatchObject({ executions: [{ task_id: "accent" }] });
  const unsaid = [
    "Run `@signalbox go`.",
    "```\n@signalbox\n```",
    "> @signalbox look\n\nI do not know.",
    "{code}@signalbox{code}",
  ];
  for (const [n, text] of unsaid.entries())
    expect(await reasonOf(comment(`APP-1${n}`, text, ["agent"]))).toMatch(/does not mention @signalbox/);
  for (const [bad, name] of [
    [{ mention: "" }, /conditions\.mention/],
    [{ min_standing: "unknown" }, /conditions\.min_standing/],
    [{ projects: [] }, /conditions\.projects/],
    [{ lable: "x" }, /lable/],
  ] as const)
    expectRefused(await service.post("/api/tasks/triggers", { ...mapping, conditions: bad }), 400, name);
});

describe("webhooks of an organization or group work like those of a repository; a change that both deliver is one event", () => {
  const statuses = async (send: (hook: number) => Promise<{ body: Receipt }>) => {
    const answers: string[] = [];
    for (const hook of [1, 2, 3]) answers.push((await send(hook)).body.status);
    return answers;
  };
  test("GitHub", async () => {
    const payload = issueOpened({ repo: "octo/app", number: 7 });
    const ofHook = (hook: number) => ({ ...payload, ...(hook > 1 && { organization: { login: "octo", id: 1 } }) });
    const send = (hook: number) => service.webhook(ofHook(hook), { headers: { "x-github-hook-id": String(hook) } });
    expect(await statuses(send)).toEqual(["accepted", "duplicate", "duplicate"]);
    const { body } = await service.webhook({ ...issueOpened({ repo: "octo/app", number: 8 }), organization: { login: "octo" } });
    expect(body).toMatchObject({ status: "accepted", executions: [{}, {}] });
  });
  test("GitLab", async () => {
    const payload = beta.issueOpened("octo/group/app", 7);
    const headers = (hook: number) => ({
      "x-gitlab-event": "Issue Hook",
      "x-gitlab-webhook-uuid": `hook-${hook}`,
      "idempotency-key": `delivery-${hook}`,
    });
    const send = (hook: number) => service.post<Receipt>("/webhook/beta", JSON.stringify(payload), { headers: headers(hook) });
    expect(await statuses(send)).toEqual(["accepted", "duplicate", "duplicate"]);
  });
});
