import { expect, test } from "vitest";
import { startModel } from "../../examples/demo/model.ts";
import { startTracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";
import { login, plainScript, surroundings, textsOf, token, webhookSecret } from "../harness/world.ts";

const repo = "octo/app";
const answers = ["Answer of Technical discovery", "Answer of Triage: initial intent"];
/** On each of them two tasks run. */
const issues = 20;

interface Seen {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly waiting_for: string | null;
  readonly next_attempt_at: string | null;
}

test.each([
  ["model", "the model", { path: "chat", status: 503, times: 0 }],
  ["tracker", "the connection alpha", { method: "POST", path: "comments", status: 503, times: 0 }],
] as const)(
  "two replicas and an outage of the %s: nothing fails or is doubled, one probe at a time, everything resumes within seconds",
  { timeout: 300_000, tags: ["postgres"] },
  async (name, words, rule) => {
    await using database = await freshDatabase("migrated");
    const tracker = await startTracker({ token, login, autoCreate: true });
    const model = await startModel({ script: plainScript });
    // No retries: an outage that used up a single attempt would make the run fail.
    const env = { ...surroundings(tracker, model), EXECUTION_RETRY_LIMIT: "0" };
    const options = { databaseUrl: database.url, webhookSecret, env };
    const replicas = await Promise.all([startService({ ...options, seed: true }), startService(options)]);
    const [first, second] = replicas;
    const server = { model, tracker }[name];
    const list = async (on = first) => (await on.get<Seen[]>("/api/task-executions?limit=1000")).body;
    try {
      const resolved = "/api/tasks/resolve?source=alpha&event=issues&action=opened";
      await eventually(async () => (await second.get<{ tasks: unknown[] }>(resolved)).body.tasks.length === 2);
      const fault = server.fault(rule);
      const open = async (number: number) => {
        const replica = replicas[number % 2] as typeof first;
        expect((await replica.webhook(issueOpened({ repo, number }), { delivery: `d-${number}` })).status).toBe(202);
      };
      await Promise.all(Array.from({ length: issues }, (_, i) => open(i + 1)));

      // Both report it, whichever met it.
      for (const replica of replicas)
        await eventually(
          async () => {
            const all = await list(replica);
            expect(all).toHaveLength(2 * issues);
            const waiting = all.filter((one) =>
              one.waiting_for?.startsWith(`${words}, which is unavailable until it answers a probe at`),
            );
            expect(waiting.length).toBeGreaterThan(issues - 2);
            for (const one of waiting) expect(one.next_attempt_at).not.toBeNull();
            expect(all.filter(({ state }) => state !== "queued" && state !== "running")).toEqual([]);
            return true;
          },
          { timeout: 60_000 },
        );

      // The requests in flight at its beginning have ended.
      await eventually(
        async () => {
          const all = await list();
          const isDone = name === "model" || all.every(({ attempts }) => attempts > 0);
          return isDone && all.every(({ state }) => state === "queued");
        },
        { timeout: 60_000, interval: 20 },
      );
      // Then only probes send requests, at most three times each, and never two executions at once.
      // Probes that begin between a list and a count are in the list at the end, or not in the count.
      const began = new Map((await list()).map(({ id, attempts }) => [id, attempts]));
      const asked = fault.applied;
      let most = 0;
      await eventually(
        async () => {
          const { body } = await first.get<Seen[]>("/api/task-executions?state=running&limit=2");
          most = Math.max(most, body.length);
          return fault.applied >= asked + 6;
        },
        { timeout: 60_000, interval: 20 },
      );
      expect(most).toBeLessThanOrEqual(1);
      const sent = fault.applied - asked;
      const starts = (await list()).reduce((sum, { id, attempts }) => sum + attempts - (began.get(id) ?? 0), 0);
      expect(sent).toBeLessThanOrEqual(3 * (starts + 1));

      // On a busy machine, a status may omit what the database did not return in time.
      const next_try_at = await eventually(async () => {
        const { body } = await first.get<{ checks: { name: string; next_try_at: string | null }[] }>("/api/status");
        return body.checks.find((one) => one.name === (name === "model" ? "model" : "connection:alpha"))?.next_try_at;
      });
      server.clearFaults();
      const answered = Date.now();
      const due = Math.max(answered, Date.parse(next_try_at));
      await eventually(async () => (await list(second)).every(({ state }) => state === "succeeded"), { timeout: 60_000 });
      // After the probe that was due.
      expect(Date.now() - due).toBeLessThan(15_000);
      for (let number = 1; number <= issues; number++) expect(textsOf(tracker, repo, number)).toEqual(answers);
    } finally {
      await Promise.all([tracker.close(), model.close()]);
      await Promise.all(replicas.map((replica) => replica.close()));
    }
  },
);
