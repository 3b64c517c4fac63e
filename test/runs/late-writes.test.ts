import { describe, expect, test, vi } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import type { Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, commentingScript, plainScript, roundsOf, startWorld, textsOf, token } from "../harness/world.ts";

const repo = "octo/app";
const texts = ["Answer of first", "Note of first"];
/** Requests that the tracker has carried out, including those whose sender has closed the connection. */
const carriedOut = (tracker: Tracker, asked: string, text: string): number =>
  tracker.requests.filter(
    ({ method, status, body }) => method === asked && (status ?? 500) < 300 && JSON.stringify(body).includes(text),
  ).length;

// Most of each test is waiting for leases and windows to end.
vi.setConfig({ maxConcurrency: 10 });

describe.concurrent("late writes", () => {
  /**
   * A tracker that carries out a request long after its sender has closed the connection. The service cannot know that, so it
   * looks, finds nothing and posts again. It promises only that one comment remains.
   */
  describeOnDatabases("a tracker carries out an approved post after the service has given it up", (database) => {
    test.each([
      { name: "its request timed out", isKilled: false },
      { name: "its process was killed", isKilled: true },
    ])("$name", { timeout: 180_000 }, async ({ isKilled }) => {
      await using world = await startWorld({
        database,
        tasks: ["first"],
        script: commentingScript,
        env: { WATCHDOG_ENABLED: "true" },
      });
      const { service, tracker } = world;
      await service.put("/api/agents/pm_default", { policy: { staged: true } });
      const { event_id } = (await service.webhook(issueOpened({ repo, number: 1 }))).body;
      const [waiting] = await waitForExecutions(service, { event_id, state: "waiting" });
      const id = String(waiting?.id);

      // The first is the note, the second the answer.
      const late = tracker.fault({ method: "POST", path: "/issues/1/comments", nth: 2, hold: true });
      expect((await service.post(`/api/task-executions/${id}/approve`, {})).status).toBe(200);
      await eventually(() => late.applied === 1);
      if (isKilled) {
        await service.kill();
        await service.restart();
      }
      await eventually(() => carriedOut(tracker, "POST", "Answer of first") === 1, { timeout: 60_000 });
      tracker.clearFaults();
      await eventually(() => carriedOut(tracker, "POST", "Answer of first") === 2);

      await eventually(() => expect(textsOf(tracker, repo, 1)).toEqual(texts) ?? true, { timeout: 60_000 });
      const search = "/api/watchdog?search=the%20newer%20one%20was%20removed";
      const warned = await eventually(async () => {
        const { body } = await service.get<object[]>(search);
        return body.length > 0 && body;
      });
      expect(warned).toMatchObject([{ context: { execution_id: id, duplicates: [expect.any(String)] } }]);
      const answer = tracker.comments(repo, 1).find(({ body }) => body.includes("Answer of first"));
      const { body } = await service.get<object>(`/api/task-executions/${id}`);
      expect(body).toMatchObject({ state: "succeeded", result_url: expect.stringContaining(String(answer?.id)) });
    });
  });

  test("so does one with the first write of a living comment: one remains", { timeout: 240_000 }, async () => {
    await using world = await startWorld({ tasks: ["first"], env: { WATCHDOG_ENABLED: "true" } });
    const { service, tracker } = world;
    await service.put("/api/agents/pm_default", { policy: { presence: "comment" } });
    const late = tracker.fault({ method: "POST", path: "/comments", body: "Answer of first", hold: true });
    // If a run takes long, its answer edits the comment that shows its progress.
    let [number, event_id] = [0, ""];
    while (late.applied === 0) {
      event_id = (await service.webhook(issueOpened({ repo, number: ++number }))).body.event_id;
      const isDone = async () =>
        (await service.get<object[]>(`/api/task-executions?event_id=${event_id}&state=succeeded`)).body.length > 0;
      await eventually(async () => late.applied === 1 || (await isDone()), { timeout: 60_000 });
    }
    await service.kill();
    await service.restart();
    const written = () => tracker.comments(repo, number).length;
    await eventually(() => written() === 1, { timeout: 120_000 });
    const [answer] = tracker.comments(repo, number);
    await waitForExecutions(service, { event_id, state: "succeeded" });
    tracker.clearFaults();
    await eventually(() => carriedOut(tracker, "POST", "Answer of first") === 2);

    await eventually(() => written() === 1, { timeout: 120_000 });
    expect(textsOf(tracker, repo, number)).toEqual(["Answer of first"]);
    expect(tracker.comments(repo, number)).toMatchObject([{ id: answer?.id }]);
    await eventually(async () => (await service.get<object[]>("/api/watchdog?search=made%20twice")).body.length === 1);
  });

  test.each([
    // The service waits before it repeats the removal.
    { name: "before the service repeats its removal", rule: { status: 429, retryAfter: 3 }, isWrittenAgain: false },
    // The tracker carries out the service's removal late, so both comments are missing for a moment.
    { name: "while the service's removal is on its way", rule: {}, isWrittenAgain: true },
  ])("a person removes the older of two comments $name: one remains", { timeout: 180_000 }, async ({ rule, isWrittenAgain }) => {
    await using world = await startWorld({ tasks: ["first"], env: { WATCHDOG_ENABLED: "true" } });
    const { service, tracker } = world;
    const late = tracker.fault({ method: "POST", path: "/issues/1/comments", hold: true });
    const { event_id } = (await service.webhook(issueOpened({ repo, number: 1 }))).body;
    await eventually(() => late.applied === 1);
    await eventually(() => carriedOut(tracker, "POST", "Answer of first") === 1, { timeout: 60_000 });
    tracker.clearFaults();
    const removal = tracker.fault({ method: "DELETE", path: "/issues/comments/", hold: true, ...rule });
    await eventually(() => removal.applied === 1, { timeout: 120_000 });
    const [older, younger] = tracker.comments(repo, 1);
    const looks = () =>
      tracker.requests.filter(({ method, path }) => method === "GET" && path.includes("/issues/1/comments")).length;
    const before = looks();
    const headers = { authorization: `Bearer ${token}` };
    const removed = await fetch(`${tracker.url}/repos/${repo}/issues/comments/${older?.id}`, { method: "DELETE", headers });
    expect(removed.status).toBe(204);
    tracker.clearFaults();

    const isRemoved = () =>
      tracker.requests.some(
        ({ method, path, status }) => method === "DELETE" && path.endsWith(`/${younger?.id}`) && status !== null,
      );
    await eventually(() => looks() > before && isRemoved());
    await eventually(() => textsOf(tracker, repo, 1).length > 0);
    const [kept] = tracker.comments(repo, 1);
    expect(textsOf(tracker, repo, 1)).toEqual(["Answer of first"]);
    expect(kept?.id === younger?.id).toBe(!isWrittenAgain);
    const [execution] = await waitForExecutions(service, { event_id, state: "succeeded" });
    await eventually(async () => {
      const { body } = await service.get<object>(`/api/task-executions/${execution?.id}`);
      return expect(body).toMatchObject({ result_url: expect.stringContaining(String(kept?.id)) }) ?? true;
    });
    const warnings = async () => (await service.get<object[]>("/api/watchdog?search=made%20twice")).body;
    if (isWrittenAgain) await eventually(async () => (await warnings()).length > 0);
    expect(await warnings()).toMatchObject(
      isWrittenAgain ? [{ message: "a write was made twice; both were removed at the same time, so it was written again" }] : [],
    );
  });

  test("a tracker carries out an edit of a living comment after the answer replaced it: the answer is restored", {
    timeout: 240_000,
  }, async () => {
    let [show, answer] = [() => {}, () => {}];
    const isShown = new Promise<void>((done) => (show = done));
    const thinks = new Promise<void>((done) => (answer = done));
    const script = async (request: ChatRequest, number: number) => {
      await isShown;
      if (roundsOf(request) === 0) return callOf("get_issue", request);
      await thinks;
      return plainScript(request, number);
    };
    await using world = await startWorld({ tasks: ["first"], script, env: { WATCHDOG_ENABLED: "true" } });
    const { service, tracker } = world;
    await service.put("/api/agents/pm_default", { policy: { presence: "comment" } });
    await service.webhook(issueOpened({ repo, number: 1 }));
    const texts = () => textsOf(tracker, repo, 1).join();
    await eventually(() => texts().includes("is working on this"));
    // The next edit names the tool. The lease of its writer ends before it is carried out.
    const late = tracker.fault({ method: "PATCH", path: "/issues/comments/", hold: true });
    show();
    await eventually(() => late.applied === 1, { timeout: 60_000 });
    answer();
    await eventually(() => texts() === "Answer of first", { timeout: 90_000 });
    const edits = () => carriedOut(tracker, "PATCH", "is working on this");
    const before = edits();
    tracker.clearFaults();
    await eventually(() => edits() > before);
    await eventually(() => texts() === "Answer of first", { timeout: 120_000 });
    await eventually(async () => (await service.get<object[]>("/api/watchdog?search=late%20edit")).body.length === 1);
  });
});
