import { afterAll, beforeAll, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { movableClock, moveClock } from "../harness/clock.ts";
import { closeFour, type FourTrackers, fourEnv, newIssue, runOn, seedLook, startFour } from "../harness/four-sources.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { plainScript } from "../harness/world.ts";

let model: Model;
let service: Service;
let trackers: FourTrackers;

beforeAll(async () => {
  model = await startModel({ script: plainScript });
  trackers = await startFour();
  service = await startService({
    env: { LLM_BASE_URL: model.url, LLM_MODEL: "scripted", ...fourEnv(trackers, "t"), ...movableClock },
  });
  await seedLook(service);
}, 180_000);
afterAll(() => closeFour(trackers, model, service), 60_000);

/** The account that no event has named so far, with its access level in the project. */
let people = 100;
function issueBy(level: number | null, n: number) {
  const id = ++people;
  if (level !== null) trackers.beta.members[id] = level;
  const issue = newIssue(trackers, "beta", n, "Since Monday.");
  Object.assign((issue.payload as { user: object }).user, { id, username: `person-${id}`, name: `person-${id}` });
  return issue;
}
const toolsOf = () =>
  model
    .chats()
    .at(-1)
    ?.tools?.map(({ function: { name } }) => name) ?? [];
interface Held {
  readonly id: string;
  readonly event_id: string;
  readonly state: string;
  readonly held_reason: string | null;
}
interface Commanded {
  readonly outcome: string;
  readonly reason: string;
}
/** Sends a comment by an account that no event has named so far. Returns the id of its event. */
async function commandBy(level: number | null, iid: number, text: string): Promise<string> {
  const id = ++people;
  if (level !== null) trackers.beta.members[id] = level;
  return commandOf(id, iid, text);
}
let comments = 10_000;
/** The same by this account. */
async function commandOf(id: number, iid: number, text: string): Promise<string> {
  const user = { id, username: `person-${id}`, name: `person-${id}` };
  const note = { id: ++comments, note: text, noteable_type: "Issue", action: "create" };
  const project = { id: 77, path_with_namespace: "octo/team/app" };
  const comment = { object_kind: "note", event_type: "note", user, object_attributes: note, project };
  const headers = { "x-gitlab-event": "Note Hook", "x-gitlab-token": "test-token-1" };
  const payload = { ...comment, issue: { iid, title: "Crash", state: "opened" } };
  return (await service.post<{ event_id: string }>("/webhook/beta", payload, { headers })).body.event_id;
}
const commanded = async (id: string) => (await service.get<Commanded>(`/api/webhook-events/${id}`)).body;
const eventOf = async (id: string) =>
  (await service.get<{ author: { standing: string } }>(`/api/webhook-events/${id}`)).body.author;

test.each([
  ["a stranger", null, "none", false],
  ["a guest", 10, "contributor", false],
  ["a developer", 30, "member", true],
] as const)("the first event of %s is limited like every later one", async (_, level, standing, writes) => {
  const { state, event_id } = await runOn<Held>(service, "beta", issueBy(level, people));
  expect(state).toBe("succeeded");
  expect(toolsOf().includes("beta__add_comment")).toBe(writes);
  expect(toolsOf()).toContain("beta__get_issue");
  expect(await eventOf(event_id)).toMatchObject({ standing });
});

test("a run whose author does not meet a condition is held without a notice, until an operator releases it", async () => {
  await service.post("/api/tasks", { id: "members", name: "Members", description: "Look.", actor_id: "pm_default" });
  const conditions = { min_standing: "member" };
  const mapping = { canonical_trigger: "issue.created", task_id: "members", conditions };
  expect((await service.post("/api/tasks/triggers", mapping)).status).toBe(201);
  const issue = issueBy(10, 900);
  const { body } = await service.post<{ event_id: string }>("/webhook/beta", JSON.stringify(issue.payload), {
    headers: issue.headers,
  });
  const ofMembers = async (state: "held" | "succeeded") =>
    (await waitForExecutions(service, { event_id: body.event_id, count: 1, state })) as unknown as Held[];
  const [held] = await ofMembers("held");
  expect(held?.held_reason).toMatch(
    /^person-\d+ has the standing contributor, and the mapping of issue\.created to members requires at least member$/,
  );
  await ofMembers("succeeded");
  expect(issue.comments()).toHaveLength(1);
  // The author's second account, which is also unknown, does not release it.
  expect((await commanded(await commandBy(null, 900, "/continue"))).reason).toMatch(/^\/continue by .*: 0 executions released$/);
  expect((await service.post(`/api/task-executions/${held?.id}/release`)).status).toBe(200);
  await waitForExecutions(service, { event_id: body.event_id, count: 2, state: "succeeded" });
  expect(toolsOf()).not.toContain("beta__add_comment");
});

test("a standing below the policy holds the run too, and an operator's replay ignores the limit", async () => {
  const project = { name: "app", source: "beta", source_project_id: "octo/team/app", policy: { trigger_min_standing: "member" } };
  const { status, body: made } = await service.post<{ id: number }>("/api/projects", project);
  expect(status).toBe(201);
  const { payload, headers } = issueBy(null, 901);
  const { body: first } = await service.post<{ event_id: string }>("/webhook/beta", JSON.stringify(payload), { headers });
  const [held] = (await waitForExecutions(service, { event_id: first.event_id, state: "held" })) as unknown as Held[];
  expect(held?.held_reason).toMatch(/has the standing none, and trigger_min_standing in the policy of the project requires/);
  const { body: again } = await service.post<{ event_id: string }>(`/api/webhook-events/${first.event_id}/replay`);
  await waitForExecutions(service, { event_id: again.event_id, count: 1, state: "succeeded" });
  expect((await service.put(`/api/projects/${made.id}`, { policy: {} })).status).toBe(200);
});

test("an approval by an account that is not known yet waits for its standing", async () => {
  const { body: stored } = await service.get<{ id: number; source_project_id: string }[]>("/api/projects");
  const id = stored.find((one) => one.source_project_id === "octo/team/app")?.id;
  expect((await service.put(`/api/projects/${id}`, { policy: { staged: true } })).status).toBe(200);
  const issue = issueBy(30, 930);
  const { body: opened } = await service.post<{ event_id: string }>("/webhook/beta", issue.payload, { headers: issue.headers });
  await waitForExecutions(service, { event_id: opened.event_id, count: 2, state: "waiting" });
  const guest = await commandBy(10, 930, "/approve");
  await eventually(async () =>
    /^\/approve requires the standing collaborator .*contributor$/.test((await commanded(guest)).reason),
  );
  expect(issue.comments()).toEqual([]);
  const developer = await commandBy(30, 930, "/approve");
  await waitForExecutions(service, { event_id: opened.event_id, count: 2, state: "succeeded" });
  expect(issue.comments()).toHaveLength(2);
  expect(await commanded(developer)).toMatchObject({
    outcome: "dispatched",
    reason: expect.stringMatching(/^\/approve by beta:person-\d+: proposals of 2 executions approved$/),
  });
  expect((await service.put(`/api/projects/${id}`, { policy: {} })).status).toBe(200);
});

test("an account that lost its standing since it was looked up approves nothing and does not write", {
  timeout: 60_000,
  tags: ["node"],
}, async () => {
  const { body: stored } = await service.get<{ id: number; source_project_id: string }[]>("/api/projects");
  const project = stored.find((one) => one.source_project_id === "octo/team/app")?.id;
  const setPolicy = async (policy: object) =>
    expect((await service.put(`/api/projects/${project}`, { policy })).status).toBe(200);
  await setPolicy({ staged: true });
  const issue = issueBy(30, 940);
  const developer = people;
  const { body: opened } = await service.post<{ event_id: string }>("/webhook/beta", issue.payload, { headers: issue.headers });
  await waitForExecutions(service, { event_id: opened.event_id, count: 2, state: "waiting" });
  delete trackers.beta.members[developer];
  await moveClock(service);
  const early = await commandOf(developer, 940, "/approve");
  await eventually(async () =>
    /^\/approve requires the standing collaborator .*has the standing none$/.test((await commanded(early)).reason),
  );
  expect(issue.comments()).toEqual([]);

  // The other way round: a guest became a developer.
  trackers.beta.members[developer] = 30;
  await moveClock(service);
  const later = await commandOf(developer, 940, "/approve");
  await waitForExecutions(service, { event_id: opened.event_id, count: 2, state: "succeeded" });
  expect(await commanded(later)).toMatchObject({ outcome: "dispatched" });
  await setPolicy({});

  delete trackers.beta.members[developer];
  await moveClock(service);
  const user = { id: developer, username: `person-${developer}`, name: `person-${developer}` };
  const again = newIssue(trackers, "beta", 941, "Since Monday.");
  Object.assign((again.payload as { user: object }).user, user);
  const { body: last } = await service.post<{ event_id: string }>("/webhook/beta", again.payload, { headers: again.headers });
  await waitForExecutions(service, { event_id: last.event_id, count: 1, state: "succeeded" });
  expect(toolsOf()).not.toContain("beta__add_comment");
  expect(await eventOf(last.event_id)).toMatchObject({ standing: "none" });
});

test("a platform that does not answer delays the run by a few seconds at most, and limits nothing", {
  timeout: 60_000,
}, async () => {
  trackers.beta.fault({ kind: "hang", times: 1, path: /\/members\/all$/ });
  const { state, event_id } = await runOn<Held>(service, "beta", issueBy(null, 950));
  trackers.beta.heal();
  expect(state).toBe("succeeded");
  expect(await eventOf(event_id)).toMatchObject({ standing: "unknown" });
});
