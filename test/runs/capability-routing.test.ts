import { afterAll, beforeAll, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Service, startService } from "../harness/service.ts";
import { waitForExecutions } from "../harness/wait.ts";

/** `required_capabilities`, from the webhook to the agent whose prompt the model receives. */
let tracker: Tracker;
let model: Model;
let service: Service;
beforeAll(async () => {
  tracker = await startTracker({ autoCreate: true });
  model = await startModel({ script: () => ({ content: "Looked at." }), delayMs: 150 });
  const env = { ALPHA_API_URL: tracker.url, ALPHA_TOKEN: "token", LLM_BASE_URL: model.url, LLM_API_KEY: "key" };
  service = await startService({ env });
  await service.post("/api/tasks/sources/seed");
  for (const id of ["half", "whole_a", "whole_b", "actor"])
    await service.post("/api/agents", { id, name: id, role_id: "ta", prompt: `I am ${id}.` });
  const capabilities = { half: ["security"], whole_a: ["security", "testing"], whole_b: ["testing", "security", "other"] };
  for (const [id, labels] of Object.entries(capabilities))
    for (const capability of labels) await service.post(`/api/agents/${id}/capabilities`, { capability });
  await service.post("/api/tasks", { id: "review", name: "Review", description: "Review it.", actor_id: "actor" });
  await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: "review" });
}, 60_000);
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
