import { afterAll, beforeAll, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Service, startService } from "../harness/service.ts";
import { type ExecutionSeen, eventually, hourLasts, waitForExecutions } from "../harness/wait.ts";

/** `required_capabilities`, from the webhook to the agent whose prompt the model receives. */
let tracker: Tracker;
let model: Model;
let service: Service;
beforeAll(async () => {
  tracker = await startTracker({ autoCreate: true });
  model = await startModel({ script: () => ({ content: "Looked at." }), delayMs: 150 });
  const env = {
    ALPHA_API_URL: tracker.url,
    ALPHA_TOKEN: "token",
    LLM_BASE_URL: model.url,
    LLM_API_KEY: "key",
    LOOP_COOLDOWN_SECONDS: "10",
  };
  service = await startService({ env });
  await service.post("/api/tasks/sources/seed");
  for (const id of ["half", "whole_a", "whole_b", "actor"])
    await service.post("/api/agents", { id, name: id, role_id: "ta", prompt: `I am ${id}.` });
  const capabilities = { half: ["security"], whole_a: ["security", "testing"], whole_b: ["testing", "security", "other"] };
  for (const [id, labels] of Object.entries(capabilities))
    for (const capability of labels) await service.post(`/api/agents/${id}/capabilities`, { capability });
  await service.post("/api/tasks", { id: "review", name: "Review", description: "Review it.", actor_id: "actor" });
  await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: "review" });
}, 180_000);
afterAll(async () => {
  await service?.close();
  await model?.close();
  await tracker?.close();
});

let number = 0;
/** Sends this many issues at once and returns the agents that ran them. */
async function agentsOf(count: number): Promise<(string | null)[]> {
  const sent = await Promise.all(Array.from({ length: count }, () => service.webhook(issueOpened({ number: ++number }))));
  const runs = await Promise.all(sent.map(({ body }) => waitForExecutions(service, { event_id: body.event_id })));
  expect(runs.flat().map((one) => [one.state, one.error])).toEqual(runs.flat().map(() => ["succeeded", null]));
  return runs.flat().map((one) => one.agent_id);
}
const require = (required_capabilities: string[], more = {}) =>
  service.put("/api/tasks/review", { required_capabilities, ...more });

test("nothing required: actor_id runs it", async () => {
  expect(await agentsOf(1)).toEqual(["actor"]);
});

test("the highest score wins, and its prompt is what the model gets", async () => {
  await require(["security", "testing", "other"]);
  expect(await agentsOf(1)).toEqual(["whole_b"]);
  expect(JSON.stringify(model.chats().at(-1)?.messages[0])).toContain("I am whole_b.");
});

test("agents with equal scores share the work, also of simultaneous events", async () => {
  await require(["security", "testing"]);
  const together = await agentsOf(6);
  expect(together.filter((id) => id === "whole_a")).toHaveLength(3);
  expect(together.filter((id) => id === "whole_b")).toHaveLength(3);
  const chosen = [await agentsOf(1), await agentsOf(1), await agentsOf(1), await agentsOf(1)].flat();
  expect(chosen.filter((id) => id === "whole_a")).toHaveLength(2);
});

test("no agent has a required capability: actor_id runs it", async () => {
  await require(["cooking"]);
  expect(await agentsOf(1)).toEqual(["actor"]);
});

test("without a matching agent or actor the fallback prompt runs it", async () => {
  await require(["cooking"], { actor_id: "gone", actor_fallback: "I am the fallback." });
  expect(await agentsOf(1)).toEqual([null]);
  expect(JSON.stringify(model.chats().at(-1)?.messages[0])).toContain("I am the fallback.");
});

test("the audit shows which agent ran what", async () => {
  const { body } = await service.get<{ event: string }[]>("/api/agents/whole_b/audit?limit=4");
  expect(body.map((one) => one.event)).toEqual(["execution.succeeded", "answer.posted", "model.called", "execution.started"]);
  const stats = await service.get<{ tasks: { total: number; succeeded: number } }>("/api/agents/whole_b/usage-stats");
  expect(stats.body.tasks).toMatchObject({ total: 6, succeeded: 6 });
});

interface Kept extends ExecutionSeen {
  readonly held_reason: string | null;
  readonly held_until: string | null;
  readonly waiting_for: string | null;
}
/** The execution of an event in this state. */
const reached = (event_id: string, state: string) =>
  eventually(
    async () => {
      const [one] = (await service.get<Kept[]>(`/api/task-executions?event_id=${event_id}`)).body;
      return one?.state === state && one.attempts > 0 && one;
    },
    { timeout: 30_000 },
  );
const opened = async (issue: object = {}, of = ++number) =>
  (await service.webhook(issueOpened({ number: of }, { issue }))).body.event_id;

test("work waits for the best agent while it is paused, and equal ones that are not paused run it", async () => {
  await require(["security", "testing", "other"]);
  const pause = { scope: "agent", id: "whole_b" };
  expect((await service.post("/api/pause", { ...pause, reason: "wrong answers" })).status).toBe(200);
  const requests = model.chats().length;
  const event_id = await opened();
  const queued = await reached(event_id, "queued");
  expect(queued).toMatchObject({ agent_id: "whole_b", waiting_for: "agent whole_b is paused: wrong answers" });
  const { history } = (await service.get<{ history: object[] }>(`/api/task-executions/${queued.id}`)).body;
  expect(history).toContainEqual(expect.objectContaining({ event: "interrupted", detail: "its agent is paused" }));
  await require(["security", "testing"]);
  expect(await agentsOf(2)).toEqual(["whole_a", "whole_a"]);
  expect(model.chats().length - requests).toBe(2);
  await require(["security", "testing", "other"]);
  expect((await service.post("/api/resume", pause)).status).toBe(200);
  expect(await reached(event_id, "succeeded")).toMatchObject({ agent_id: "whole_b" });
});

test.each([
  [
    { trigger_min_standing: "member" },
    /standing none, and trigger_min_standing in the policy of the agent requires at least member$/,
  ],
  [{ author_runs_per_hour: 1 }, /limit is 1 \(author_runs_per_hour in the policy of the agent\)$/],
  [{ issue_runs_per_hour: 1 }, /limit is 1 \(issue_runs_per_hour in the policy of the agent\)$/],
  [{ issue_tokens_per_day: 1 }, /limit is 1 \(issue_tokens_per_day in the policy of the agent\)$/],
])("the limits %j of the chosen agent hold its work until it is released", { timeout: 180_000 }, async (policy, reason) => {
  await hourLasts();
  await require(["security", "testing", "other"]);
  const [stranger, issue] = [{ id: number + 5_000, login: `user-${number}` }, ++number];
  const author = { user: stranger, author_association: "NONE" };
  const open = async () =>
    (await service.webhook(issueOpened({ number: issue }, { issue: author, sender: { ...stranger, type: "User" } }))).body
      .event_id;
  if (!("trigger_min_standing" in policy)) await reached(await open(), "succeeded");
  expect((await service.put("/api/agents/whole_b", { policy })).status).toBe(200);
  const requests = model.chats().length;
  const held = await reached(await open(), "held");
  expect(held.held_reason).toMatch(reason);
  expect(held.held_until === null).toBe("trigger_min_standing" in policy);
  expect(model.chats()).toHaveLength(requests);
  expect((await service.post(`/api/task-executions/${held.id}/release`)).status).toBe(200);
  expect(await reached(String(held.event_id), "succeeded")).toMatchObject({ agent_id: "whole_b" });
  expect((await service.put("/api/agents/whole_b", { policy: {} })).status).toBe(200);
});

test("a loop is held by the limit of the chosen agent until its cooldown is over", { timeout: 180_000 }, async () => {
  await require(["security", "testing", "other"]);
  expect((await service.put("/api/agents/whole_b", { policy: { loop_max_hops: 1 } })).status).toBe(200);
  const issue = ++number;
  for (const state of ["succeeded", "succeeded"]) await reached(await opened({}, issue), state);
  const last = await opened({}, issue);
  expect(await reached(last, "held")).toMatchObject({
    held_reason: expect.stringMatching(
      /^2 events in a row .*looks like a loop: loop_max_hops in the policy of the agent allows 1$/,
    ),
    held_until: expect.stringContaining("Z"),
  });
  expect(await reached(last, "succeeded")).toMatchObject({ agent_id: "whole_b", held_reason: null });
  expect((await service.put("/api/agents/whole_b", { policy: {} })).status).toBe(200);
});
