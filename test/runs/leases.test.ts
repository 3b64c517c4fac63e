import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { duringClaim } from "../harness/blocked-statements.ts";
import { releaseExecution, storedExecution, withDeaths } from "../harness/database-faults.ts";
import { freshDatabase } from "../harness/databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { issueOf, startWorld, textsOf } from "../harness/world.ts";

const repo = "octo/app";
/** Of a test whose runs keep their leases, also if the machine stops for some seconds. */
const leaseSeconds = 10;

// On the embedded database, no other process can take an execution or block a claim.
test("an execution that its worker claims again, and a stop during a claim", { tags: ["postgres"] }, async () => {
  await using database = await freshDatabase("migrated");
  // The first attempt thinks until its execution has been taken away, the second one longer than a lease.
  const taken = Promise.withResolvers<void>();
  const script = (_: ChatRequest, number: number) =>
    number === 1
      ? taken.promise.then(() => ({ content: "First thought." }))
      : { content: "Second thought.", delayMs: 1.2 * leaseSeconds * 1_000 };
  const env = { EXECUTION_LEASE_SECONDS: String(leaseSeconds) };
  await using world = await startWorld({ databaseUrl: database.url, tasks: ["only"], script, env });
  const { service, tracker, model } = world;
  const open = async (number: number) =>
    (await service.webhook(issueOpened({ repo, number }), { delivery: `d-${number}` })).body.event_id;

  // The execution is taken away without the worker's knowledge, as after a pause of the whole process, and claimed again. The
  // second attempt keeps its lease, whatever happens to the first.
  const again = await open(1);
  await eventually(() => model.chats().length === 1);
  await releaseExecution(database, String(again));
  taken.resolve();
  const [execution] = await waitForExecutions(service, { event_id: again });
  expect(execution).toMatchObject({ state: "succeeded", attempts: 2, result: "Second thought." });
  expect(textsOf(tracker, repo, 1)).toEqual(["Second thought."]);

  // A claim in flight when the stop begins returns an execution; it is queued again like the others.
  model.answerWith({ reply: { status: 429, headers: { "retry-after": "600" } } });
  const late = await open(2);
  await eventually(async () => (await waitForExecutions(service, { event_id: late, state: "queued" }))[0]?.attempts === 1);
  // The stop may reach the queue only after the claim is answered: then the execution must still be running.
  model.answerWith({ reply: { hang: true } });
  let stopped: Promise<unknown> | undefined;
  await duringClaim(database, String(late), async () => {
    stopped = service.stop();
    await eventually(() => service.logs().includes("stopping"));
  });
  await stopped;
  expect(await storedExecution(database, String(late))).toMatchObject({ state: "queued", attempts: 2, lease: null });
  expect(textsOf(tracker, repo, 2)).toEqual([]);
});

test("executions that are interrupted together are all released at once", { tags: ["postgres"] }, async () => {
  await using database = await freshDatabase("migrated");
  const env = { EXECUTION_LEASE_SECONDS: "2" };
  await using world = await startWorld({ databaseUrl: database.url, tasks: ["only"], script: () => ({ hang: true }), env });
  const { service, model } = world;
  const numbers = [1, 2, 3, 4];
  const sent = await Promise.all(numbers.map((number) => service.webhook(issueOpened({ repo, number }))));
  const events = sent.map(({ body }) => String(body.event_id));
  /** Waits for a request about each issue after the first `before` requests. */
  const areAsked = (before: number) =>
    eventually(() => new Set(model.chats().slice(before).map(issueOf)).size === numbers.length, { timeout: 30_000 });

  // A freeze beyond the lease does not count as a crash, however often it happens: all executions continue in the same process.
  await areAsked(0);
  process.kill(service.pid, "SIGSTOP");
  const before = model.chats().length;
  await sleep(3_000);
  process.kill(service.pid, "SIGCONT");
  await areAsked(before);
  await eventually(async () => (await withDeaths(database)) === 0);

  await service.stop();
  for (const event of events) expect(await storedExecution(database, event)).toMatchObject({ state: "queued", lease: null });
});
