import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";
let world: World;

beforeAll(async () => {
  world = await startWorld({ tasks: ["first"], env: { ENCRYPTION_KEY: "ab".repeat(32) } });
});
afterAll(() => world?.[Symbol.asyncDispose]());

test("a run whose account cannot be used fails with the reason, and no other account posts its answer", async () => {
  const account = { source: "alpha", name: "Customer", agent_id: "pm_default", credentials: { token: "of-the-customer" } };
  const { body: integration } = await world.service.post<{ id: string }>("/api/integrations", account);
  await world.service.restart({ ENCRYPTION_KEY: "cd".repeat(32) });
  const { body } = await world.service.webhook(issueOpened({ repo, number: 1 }));
  const [execution] = await waitForExecutions(world.service, { event_id: body.event_id });
  expect(execution).toMatchObject({
    state: "failed",
    error: `The credentials of the integration Customer (${integration.id}) cannot be used; the service's log says why.`,
  });
  expect(textsOf(world.tracker, repo, 1)).toEqual([]);
  const logged = world.service.logs();
  expect(logged).toContain("it was encrypted with a key that is not in ENCRYPTION_KEY");
  expect(logged).not.toContain("failed unexpectedly");
});
