import { describe, expect, test, vi } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import type { Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, plainScript, roundsOf, startWorld, textsOf } from "../harness/world.ts";

const repo = "octo/app";
const env = { WATCHDOG_ENABLED: "true" };
const carriedOut = (tracker: Tracker, asked: string, text: string): number =>
  tracker.requests.filter(
    ({ method, status, body }) => method === asked && (status ?? 500) < 300 && JSON.stringify(body).includes(text),
  ).length;
/** A model that waits before each of its answers. */
function gates() {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  return { first, second };
}

// Most of each test is waiting for leases and windows to end.
vi.setConfig({ maxConcurrency: 10 });

/** A tracker carries out a request for a living comment long after the service has given it up, and after later writes. */
describe.concurrent("late writes of a living comment", () => {
  test("a first answer that arrives after a later run has edited its repetition is removed", { timeout: 240_000 }, async () => {
    await using world = await startWorld({ tasks: ["first"], env });
    const { service, tracker } = world;
    await service.put("/api/agents/pm_default", { policy: { presence: "comment" } });
    const late = tracker.fault({ method: "POST", path: "/comments", body: "Answer of first", hold: true });
    let [number, event_id] = [0, ""];
    while (late.applied === 0) {
      event_id = (await service.webhook(issueOpened({ repo, number: ++number }))).body.event_id;
      const isDone = async () =>
        (await service.get<object[]>(`/api/task-executions?event_id=${event_id}&state=succeeded`)).body.length > 0;
      await eventually(async () => late.applied === 1 || (await isDone()), { timeout: 60_000 });
    }
    await waitForExecutions(service, { event_id, state: "succeeded", timeout: 120_000 });
    const [answer] = tracker.comments(repo, number);
    const next = (await service.webhook(issueOpened({ repo, number, title: "Once more" }))).body.event_id;
    await waitForExecutions(service, { event_id: next, state: "succeeded", timeout: 60_000 });
    expect(carriedOut(tracker, "PATCH", "Answer of first")).toBeGreaterThan(0);
    const posted = carriedOut(tracker, "POST", "Answer of first");
    tracker.clearFaults();
    await eventually(() => carriedOut(tracker, "POST", "Answer of first") > posted);

    await eventually(() => tracker.comments(repo, number).length === 1, { timeout: 120_000 });
    expect(tracker.comments(repo, number)).toMatchObject([{ id: answer?.id }]);
    await eventually(async () => (await service.get<object[]>("/api/watchdog?search=late%20request")).body.length === 1);
  });

  test("a first sign of a run that arrives after its answer is removed", { timeout: 240_000 }, async () => {
    const { first } = gates();
    const script = async (request: ChatRequest, number: number) => {
      await first.promise;
      return plainScript(request, number);
    };
    await using world = await startWorld({ tasks: ["first"], script, env });
    const { service, tracker } = world;
    await service.put("/api/agents/pm_default", { policy: { presence: "comment" } });
    const late = tracker.fault({ method: "POST", path: "/comments", body: "is working on this", hold: true });
    const { event_id } = (await service.webhook(issueOpened({ repo, number: 1 }))).body;
    await eventually(() => late.applied === 1, { timeout: 60_000 });
    first.resolve();
    await waitForExecutions(service, { event_id, state: "succeeded", timeout: 120_000 });
    expect(textsOf(tracker, repo, 1)).toEqual(["Answer of first"]);
    const signs = () => carriedOut(tracker, "POST", "is working on this");
    const before = signs();
    tracker.clearFaults();
    await eventually(() => signs() > before);

    await eventually(() => tracker.comments(repo, 1).length === 1, { timeout: 120_000 });
    expect(textsOf(tracker, repo, 1)).toEqual(["Answer of first"]);
  });

  test("a notice of a failure that an earlier sign replaced is written again", { timeout: 240_000 }, async () => {
    const { first, second } = gates();
    const script = async (request: ChatRequest) => {
      await first.promise;
      if (roundsOf(request) === 0) return callOf("get_issue", request);
      await second.promise;
      return { status: 400 };
    };
    await using world = await startWorld({ tasks: ["first"], script, env });
    const { service, tracker } = world;
    await service.put("/api/agents/pm_default", { policy: { presence: "comment" } });
    await service.webhook(issueOpened({ repo, number: 1 }));
    const text = () => textsOf(tracker, repo, 1).join();
    await eventually(() => text().includes("is working on this"));
    const late = tracker.fault({ method: "PATCH", path: "/issues/comments/", hold: true });
    first.resolve();
    await eventually(() => late.applied === 1, { timeout: 60_000 });
    second.resolve();
    await eventually(() => text().includes("could not finish"), { timeout: 90_000 });
    const edits = () => carriedOut(tracker, "PATCH", "is working on this");
    const before = edits();
    tracker.clearFaults();
    await eventually(() => edits() > before);

    await eventually(() => text().includes("could not finish"), { timeout: 120_000 });
    await eventually(async () => (await service.get<object[]>("/api/watchdog?search=late%20edit")).body.length === 1);
  });
});
