import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

interface Use {
  readonly execution_id: string;
  readonly subject: string;
  readonly state: string;
}

let world: World;
beforeAll(async () => {
  world = await startWorld({ tasks: ["first"] });
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

const usesOf = (key: string, query = "") =>
  world.service.get<Use[]>(`/api/memory/${encodeURIComponent(key)}/uses${query}`).then(({ body }) => body);

test("a memory lists the executions whose prompt contained it, newest first", { timeout: 60_000 }, async () => {
  const key = "deploys/on fridays";
  await world.service.post("/api/memory", {
    key,
    content: "The checkout is never deployed on a Friday.",
    scope: "organizational",
  });
  await world.service.post("/api/memory", { key: "other", content: "zebra", scope: "agent", agent_id: "qa_default" });
  expect(await usesOf(key)).toEqual([]);
  for (const number of [1, 2]) {
    const title = "The checkout must be deployed on a Friday";
    await world.service.webhook(issueOpened({ repo: "octo/app", number, title, body: title }));
    await waitForExecutions(world.service, { count: number, state: "succeeded" });
  }
  const uses = await eventually(async () => {
    const found = await usesOf(key);
    return found.length === 2 && found;
  });
  expect(uses.map(({ subject, state }) => [subject, state])).toEqual([
    ["alpha:octo/app#2", "succeeded"],
    ["alpha:octo/app#1", "succeeded"],
  ]);
  expect(await usesOf(key, "?limit=1&offset=1")).toEqual([uses[1]]);
  expect(await usesOf("other")).toEqual([]);
  const { body } = await world.service.post<{ executions: number }>("/api/erase", { subject: "octo/app#2" });
  expect(body.executions).toBe(1);
  const { body: log } = await world.service.get<{ operation: string }[]>("/api/audit-log?subject=octo%2Fapp%232");
  expect(log.map(({ operation }) => operation)).toContain("data.erase");
  expect((await usesOf(key)).map(({ subject }) => subject)).toEqual(["alpha:octo/app#1"]);
});
