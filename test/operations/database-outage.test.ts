import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { startUrlProxy } from "../harness/tcp-proxy.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf } from "../harness/world.ts";

const repo = "octo/app";

// The embedded database goes away with the process only.
test("the database is unavailable while the model works, and returns", { tags: ["postgres"] }, async () => {
  await using database = await freshDatabase();
  await using proxy = await startUrlProxy(database.url);
  // A lease that cannot run out within this test: whoever waits for it fails.
  const env = { EXECUTION_LEASE_SECONDS: "600" };
  await using world = await startWorld({ databaseUrl: proxy.url, tasks: ["only"], env });
  const { service, tracker, model } = world;

  const before = model.chats().length;
  model.answerWith({ reply: { content: "Thought through an outage.", delayMs: 1500 } });
  const running = await service.webhook(issueOpened({ repo, number: 1 }));
  await eventually(() => model.chats().length > before);
  await proxy.cut();
  const refused = await service.webhook(issueOpened({ repo, number: 2 }), { delivery: "during" });
  expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining("database") } });
  expect((await service.get("/health")).status).toBe(503);
  await eventually(() => service.logs().includes("failed to persist the execution's outcome"), { timeout: 10_000 });
  await proxy.mend();

  await eventually(async () => (await service.get("/health")).status === 200, { timeout: 20_000 });
  const repeated = await service.webhook(issueOpened({ repo, number: 2 }), { delivery: "during" });
  expect(repeated.status).toBe(202);
  for (const { body } of [running, repeated]) {
    const [execution] = await waitForExecutions(service, { event_id: body.event_id, count: 1 });
    expect(execution).toMatchObject({ state: "succeeded", error: null });
  }
  for (const number of [1, 2]) expect(textsOf(tracker, repo, number)).toHaveLength(1);
});
