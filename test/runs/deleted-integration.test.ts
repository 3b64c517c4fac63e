import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { startTracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf } from "../harness/world.ts";

test("once an integration is deleted, no other account answers the issues of its webhook", { timeout: 120_000 }, async () => {
  const customer = await startTracker({ token: "other-token", login: "other-bot", autoCreate: true });
  try {
    await using world = await startWorld({ env: { ENCRYPTION_KEY: randomBytes(32).toString("hex") } });
    const { service } = world;
    const credentials = { token: "other-token", api_url: customer.url, webhook_secret: "hook-secret" };
    const { body: integration } = await service.post<{ id: string }>("/api/integrations", {
      source: "alpha",
      name: "Customer",
      credentials,
    });
    const repo = "customer/deleted";
    world.model.answerWith({ when: `${repo}#1`, reply: { content: "Late.", delayMs: 1_500 }, times: 0 });
    const { body } = await service.webhook(issueOpened({ repo, number: 1 }), { slug: integration.id, secret: "hook-secret" });
    const list = async () => (await service.get<{ state: string }[]>(`/api/task-executions?event_id=${body.event_id}`)).body;
    await eventually(async () => (await list()).some(({ state }) => state === "running"));
    expect((await service.del(`/api/integrations/${integration.id}`)).status).toBe(204);
    for (const { state, error } of await waitForExecutions(service, { event_id: body.event_id, count: 2 }))
      expect({ state, error }).toEqual({ state: "failed", error: expect.stringContaining(`integration ${integration.id}`) });
    for (const tracker of [world.tracker, customer]) expect(textsOf(tracker, repo, 1)).toEqual([]);
  } finally {
    await customer.close();
  }
});
