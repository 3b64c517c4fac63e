import { afterAll, beforeAll, expect, test } from "vitest";
import { issueClosed, issueCommented, issueEdited, issueOpened } from "../harness/alpha-payloads.ts";
import { type ExecutionSeen, eventually } from "../harness/wait.ts";
import { startWorld, textsOf, token, type World } from "../harness/world.ts";

const [repo, secret] = ["octo/app", "the-secret-of-a-customer"];
let world: World;
let last = 0;

beforeAll(async () => {
  world = await startWorld({ tasks: ["first"], env: { ENCRYPTION_KEY: "ab".repeat(32) } });
  const policy = { staged: true };
  const made = await world.service.post("/api/projects", { name: repo, source: "alpha", source_project_id: repo, policy });
  expect(made.status).toBe(201);
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

const comment = (number: number, text: string) =>
  issueCommented({ repo, number, comment: text }, { comment: { author_association: "OWNER" } });
const executions = async (event_id: string) =>
  (await world.service.get<ExecutionSeen[]>(`/api/task-executions?event_id=${event_id}`)).body;
const reaches = (event_id: string, state: string) =>
  eventually(async () => (await executions(event_id)).every((one) => one.state === state), { timeout: 30_000 });
const propose = async (number: number): Promise<string> => {
  const { body } = await world.service.webhook(issueOpened({ repo, number }));
  await reaches(body.event_id, "waiting");
  return body.event_id;
};
const eventOf = async (id: string) =>
  (await world.service.get<{ outcome: string; reason: string }>(`/api/webhook-events/${id}`)).body;

test("a comment approves once, however often it is sent", { timeout: 60_000 }, async () => {
  const number = ++last;
  const first = await propose(number);
  const approval = comment(number, "/approve");
  const { body: approved } = await world.service.webhook(approval);
  await reaches(first, "succeeded");
  const second = await propose(number);
  const { body: again } = await world.service.webhook(approval);
  expect(again.event_id).not.toBe(approved.event_id);
  expect(await eventOf(again.event_id)).toMatchObject({
    outcome: "discarded",
    reason: `/approve of this comment was handled before (event ${approved.event_id})`,
  });
  expect((await executions(second)).map(({ state }) => state)).toEqual(["waiting"]);
  await world.service.webhook(comment(number, "/approve"));
  await reaches(second, "succeeded");
  expect(textsOf(world.tracker, repo, number)).toHaveLength(2);
});

test("a command without effect can be sent again, but not a decision; an erasure makes no decision new", {
  timeout: 60_000,
}, async () => {
  const number = ++last;
  const approval = comment(number, "/approve");
  const retry = comment(number, "/retry");
  const nothing = { outcome: "dispatched", reason: expect.stringMatching(/: nothing on this issue has failed$/) };
  for (const _ of ["first", "again"])
    expect(await eventOf((await world.service.webhook(retry)).body.event_id)).toMatchObject(nothing);
  const early = comment(number, "/approve");
  const { body: useless } = await world.service.webhook(early);
  expect((await eventOf(useless.event_id)).reason).toMatch(/: proposals of 0 executions approved$/);
  const first = await propose(number);
  const { body: late } = await world.service.webhook(early);
  expect((await eventOf(late.event_id)).reason).toContain(`was handled before (event ${useless.event_id})`);
  expect((await executions(first)).map(({ state }) => state)).toEqual(["waiting"]);
  const { body: approved } = await world.service.webhook(approval);
  await reaches(first, "succeeded");
  const erased = await world.service.post("/api/erase", { subject: `alpha:${repo}#${number}`, dry_run: false });
  expect(erased.status).toBe(200);
  expect((await eventOf(approved.event_id)).reason).toBeNull();
  const second = await propose(number);
  const { body: again } = await world.service.webhook(approval);
  expect((await eventOf(again.event_id)).reason).toContain(`was handled before (event ${approved.event_id})`);
  expect((await executions(second)).map(({ state }) => state)).toEqual(["waiting"]);
});

test("webhooks of an integration permit only what they started, and stop everything", { timeout: 60_000 }, async () => {
  const credentials = { token, api_url: world.tracker.url, webhook_secret: secret };
  const stored = { source: "alpha", name: "Customer", credentials };
  const { id: slug } = (await world.service.post<{ id: string }>("/api/integrations", stored)).body;
  const number = ++last;
  const mine = await propose(number);
  const effectOf = async (text: string) => {
    const { body } = await world.service.webhook(comment(number, text), { slug, secret });
    return (await eventOf(body.event_id)).reason;
  };
  const left = "; skipped 1 execution that this webhook did not start";
  expect(await effectOf("/approve")).toMatch(new RegExp(`: proposals of 0 executions approved${left}$`));
  expect(await effectOf("/reject")).toMatch(new RegExp(`: proposals of 0 executions rejected${left}$`));
  expect(await effectOf("/continue")).toMatch(/: 0 executions released$/);
  expect(await effectOf("/retry")).toMatch(/: nothing on this issue has failed$/);
  expect((await executions(mine)).map(({ state }) => state)).toEqual(["waiting"]);

  const { body: theirs } = await world.service.webhook(issueOpened({ repo, number }), { slug, secret });
  await reaches(theirs.event_id, "waiting");
  expect(await effectOf("/approve")).toMatch(new RegExp(`: proposals of 1 execution approved${left}$`));
  await reaches(theirs.event_id, "succeeded");
  expect(await effectOf("/stop")).toMatch(/: 1 execution cancelled$/);
  expect((await executions(mine)).map(({ state }) => state)).toEqual(["cancelled"]);

  const next = await propose(number);
  await world.service.webhook(comment(number, "/approve"));
  await reaches(next, "succeeded");
});

test("a decision that two webhooks report reaches what each of them may decide", {
  timeout: 60_000,
}, async () => {
  const credentials = { token, api_url: world.tracker.url, webhook_secret: secret };
  const stored = { source: "alpha", name: "Both", credentials };
  const { id: slug } = (await world.service.post<{ id: string }>("/api/integrations", stored)).body;
  const number = ++last;
  const mine = await propose(number);
  const hook = (id: string) => ({ headers: { "x-github-hook-id": id } });
  const approval = comment(number, "/approve");
  const { body: first } = await world.service.webhook(approval, { slug, secret, ...hook("1") });
  expect((await eventOf(first.event_id)).reason).toMatch(/: proposals of 0 executions approved; skipped 1 execution/);
  const { body: second } = await world.service.webhook(approval, hook("2"));
  expect((await eventOf(second.event_id)).reason).toMatch(/: proposals of 1 execution approved$/);
  await reaches(mine, "succeeded");
  const { body: third } = await world.service.webhook(approval, hook("3"));
  expect(third).toEqual({ event_id: second.event_id, status: "duplicate" });
});

test("without commands, a comment that two webhooks report is one event", { timeout: 60_000 }, async () => {
  await using other = await startWorld({
    tasks: ["first"],
    env: { ENCRYPTION_KEY: "ab".repeat(32), COMMANDS_ENABLED: "false" },
  });
  const credentials = { token, api_url: other.tracker.url, webhook_secret: secret };
  const stored = { source: "alpha", name: "Both", credentials };
  const { id: slug } = (await other.service.post<{ id: string }>("/api/integrations", stored)).body;
  const text = comment(++last, "/continue as before");
  const { body: first } = await other.service.webhook(text, { slug, secret, headers: { "x-github-hook-id": "1" } });
  const { body: second } = await other.service.webhook(text, { headers: { "x-github-hook-id": "2" } });
  expect(second).toEqual({ event_id: first.event_id, status: "duplicate" });
});

test("a decision that is polled concerns only what was proposed before it was written", { timeout: 60_000 }, async () => {
  const polled = { source: "alpha", project_id: repo, interval_minutes: 60, enabled: false };
  const { body: source } = await world.service.post<{ id: number }>("/api/poll-sources", polled);
  const poll = async () => expect((await world.service.post(`/api/poll-sources/${source.id}/poll`)).status).toBe(200);
  const number = ++last;
  const write = (text: string, ageMs: number) => {
    const createdAt = new Date(Date.now() - ageMs).toISOString();
    Object.assign(world.tracker.comment(repo, number, text, "octo"), { createdAt });
  };
  world.tracker.createIssue({ repo, number, title: "Login fails", createdAt: "2020-01-01T00:00:00Z" });
  for (const text of ["/approve", "/reject too early"]) write(text, 60_000);
  const first = await propose(number);
  await poll();
  const { body: events } = await world.service.get<{ reason: string }[]>(`/api/webhook-events?subject=${repo}%23${number}`);
  expect(events.map(({ reason }) => reason)).toEqual(
    expect.arrayContaining([
      "/approve by alpha:octo: proposals of 0 executions approved",
      "/reject by alpha:octo: proposals of 0 executions rejected",
    ]),
  );
  expect((await executions(first)).map(({ state }) => state)).toEqual(["waiting"]);
  write("/approve", 0);
  await poll();
  await reaches(first, "succeeded");
});

test("a close from any webhook ends what others started", { timeout: 60_000 }, async () => {
  const credentials = { token, api_url: world.tracker.url, webhook_secret: secret };
  const stored = { source: "alpha", name: "Closer", credentials };
  const { id: slug } = (await world.service.post<{ id: string }>("/api/integrations", stored)).body;
  const number = ++last;
  const mine = await propose(number);
  await world.service.webhook(issueClosed({ repo, number }), { slug, secret });
  expect((await executions(mine)).map(({ state }) => state)).toEqual(["cancelled"]);
});

test("an integration that belongs to a project starts runs for every event that its webhook reports", {
  timeout: 60_000,
}, async () => {
  // The platform's name may be newer than the project's, or its number.
  const mine = { name: "Theirs", source: "alpha", source_project_id: "customer/app" };
  const { id: project_id } = (await world.service.post<{ id: number }>("/api/projects", mine)).body;
  const credentials = { token, api_url: world.tracker.url, webhook_secret: secret };
  const stored = { source: "alpha", name: "Theirs", credentials, project_id };
  const { id: slug } = (await world.service.post<{ id: string }>("/api/integrations", stored)).body;
  for (const from of ["customer/renamed", "Customer/App"]) {
    const { body } = await world.service.webhook(issueOpened({ repo: from, number: ++last }), { slug, secret });
    expect(body).toMatchObject({ status: "accepted" });
    await reaches(body.event_id, "succeeded");
  }
});

test("the newest edit of an issue replaces earlier ones, whichever webhooks report them", {
  timeout: 60_000,
}, async () => {
  const edited = { source: "alpha", event_name: "issues", action: "edited", canonical_trigger: "issue.edited" };
  // Another test may have mapped it.
  await world.service.post("/api/tasks/sources", edited);
  expect((await world.service.post("/api/tasks/triggers", { canonical_trigger: "issue.edited", task_id: "first" })).status).toBe(
    201,
  );
  const credentials = { token, api_url: world.tracker.url, webhook_secret: secret };
  const stored = { source: "alpha", name: "Editor", credentials };
  const { id: slug } = (await world.service.post<{ id: string }>("/api/integrations", stored)).body;
  const number = ++last;
  const edit = (day: number, delivery: object = {}) =>
    world.service.webhook(
      issueEdited({ repo, number, title: `Day ${day}` }, { issue: { updated_at: `2026-01-0${day}T00:00:00Z` } }),
      delivery,
    );
  // None of them begins before the newest has arrived.
  expect((await world.service.post("/api/pause", { scope: "all", reason: "so that all wait" })).status).toBe(200);
  const { body: first } = await edit(1);
  const { body: second } = await edit(3, { slug, secret });
  const { body: late } = await edit(2);
  expect([first, second, late].map(({ status }) => status)).toEqual(["accepted", "accepted", "discarded"]);
  const { body: newest } = await edit(4);
  expect((await world.service.post("/api/resume", { scope: "all" })).status).toBe(200);
  await reaches(newest.event_id, "waiting");
  for (const [replaced, by] of [
    [first, second],
    [second, newest],
  ] as const)
    expect((await executions(replaced.event_id))[0]).toMatchObject({
      state: "cancelled",
      reason: `superseded by event ${by.event_id}`,
    });
});
