import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { commentingScript, startWorld, textsOf } from "../harness/world.ts";

const repo = "octo/app";
const texts = ["Answer of first", "Note of first"];
/** Longer than the service assumes a request to be on its way with a lease of 2 s (10 s), and than its wait and next look. */
const lateMs = 16_000;

/**
 * A tracker that carries out a request long after its sender has closed the connection: no one can know that, so the service
 * looks, finds nothing and posts again. It promises only that one comment remains.
 */
describeOnDatabases("a tracker carries out an approved post after the service has given it up", (database) => {
  test.concurrent.each([
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

    // The first is the note, the second is the answer.
    const late = tracker.fault({ method: "POST", path: "/issues/1/comments", nth: 2, delayMs: lateMs });
    expect((await service.post(`/api/task-executions/${id}/approve`, {})).status).toBe(200);
    await eventually(() => late.applied === 1);
    if (isKilled) {
      await service.kill();
      await service.restart();
    }
    await eventually(() => textsOf(tracker, repo, 1).length === 3, { timeout: 60_000 });
    expect(textsOf(tracker, repo, 1)).toEqual(["Answer of first", ...texts]);

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
