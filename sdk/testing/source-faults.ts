import assert from "node:assert/strict";
import { assertHandlesFault, assertNoSecret, expectPluginError, faultScenarios, withTracker } from "./expect.ts";
import { callContext } from "./fake-host.ts";
import type { SourceFixtures, TestCase } from "./fixtures.ts";
import type { OpenSource } from "./source-harness.ts";

/** Cases for faults of the tracker. */
export function faultCases(open: OpenSource, fixtures: SourceFixtures): TestCase[] {
  const post = { subject: fixtures.subject, body: "Hello." };
  const since = "2020-01-01T00:00:00.000Z";
  const cases = faultScenarios.flatMap((scenario) =>
    (["deliver", "find", "check", "poll"] as const).map((method) => ({
      name: `${method} reports ${scenario.name}`,
      slow: true,
      run: () =>
        withTracker(fixtures.tracker, async (tracker) => {
          const { source, settings, secrets, lines } = await open();
          if (method === "poll" && !source.poll) return;
          const connection = settings(tracker.url, fixtures.signature?.settings);
          const run = (deadline_ms: number): unknown => {
            const call = callContext(connection, { deadline_ms });
            if (method === "check") return source.check(call);
            if (method === "poll") return source.poll?.({ project: fixtures.subject.project, since, cursor: null }, call);
            return source[method](post, call);
          };
          await assertHandlesFault(scenario, tracker, method, run, secrets);
          assertNoSecret("log", lines.join("\n"), secrets);
          tracker.heal();
          if (method === "deliver") await source.deliver(post, callContext(connection));
        }),
    })),
  );
  return [...cases, shortLimit(open, fixtures), closedPort(open, fixtures)];
}

/** A rate-limited write did not succeed, so the source or the host may repeat it after the wait. */
function shortLimit(open: OpenSource, fixtures: SourceFixtures): TestCase {
  return {
    name: "deliver obeys a short Retry-After",
    slow: true,
    run: () =>
      withTracker(fixtures.tracker, async (tracker) => {
        const { source, settings } = await open();
        tracker.fault({
          kind: "status",
          status: 429,
          headers: { "retry-after": "1" },
          body: '{"message":"slow down"}',
          times: 1,
        });
        const startedAt = performance.now();
        const call = callContext(settings(tracker.url));
        const post = { subject: fixtures.subject, body: "Hello." };
        const outcome = await source.deliver(post, call).then(
          () => null,
          (error: { code?: unknown; retry_after_ms?: number }) => error,
        );
        if (outcome === null) {
          assert.ok(performance.now() - startedAt > 900, "deliver returned before the requested second had passed");
          const count = tracker.comments(fixtures.subject).length;
          assert.equal(count, 1, `deliver must post one comment after the wait; the tracker has ${count}`);
        } else {
          assert.equal(outcome.code, "rate_limited", `the code must be rate_limited; it is ${String(outcome.code)}`);
          assert.ok((outcome.retry_after_ms ?? 0) >= 900, "retry_after_ms must be the requested wait");
        }
      }),
  };
}

function closedPort(open: OpenSource, fixtures: SourceFixtures): TestCase {
  return {
    name: "deliver reports a closed port",
    run: async () => {
      const tracker = await fixtures.tracker();
      await tracker.close();
      const { source, settings, secrets } = await open();
      const call = callContext(settings(tracker.url));
      const error = await expectPluginError(
        "deliver",
        () => source.deliver({ subject: fixtures.subject, body: "Hello." }, call),
        secrets,
      );
      assert.deepEqual([error.code, error.retryable], ["unavailable", true]);
    },
  };
}
