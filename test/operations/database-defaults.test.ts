import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { changeDefaults } from "../harness/database-faults.ts";
import { freshDatabase } from "../harness/databases.ts";
import { startPooler } from "../harness/pgbouncer.ts";
import { type Service, startService } from "../harness/service.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { commentingScript, login, surroundings, textsOf, token, webhookSecret } from "../harness/world.ts";

// Administrators of shared servers set such defaults for a database or a role, often for an older application.
const repo = "octo/app";
const issues = 3;
const perIssue = 10;
const limit = 180_000;
/** So that a busy machine holds up no run until its lease ends, which would be logged as an error. */
const unhurried = { EXECUTION_LEASE_SECONDS: "600" };
const texts = {
  DateStyle: "German, DMY",
  IntervalStyle: "postgres_verbose",
  bytea_output: "escape",
  standard_conforming_strings: "off",
  extra_float_digits: "0",
};
const concurrency = { default_transaction_isolation: "serializable", lock_timeout: "10ms" };
let tracker: Tracker;
let model: Model;

beforeAll(async () => {
  tracker = await startTracker({ token, login, autoCreate: true });
  model = await startModel({ script: commentingScript });
});
afterAll(async () => void (await Promise.all([tracker.close(), model.close()])));

/** Many events of a few issues at once: all are stored, run and shown as with PostgreSQL's own defaults. */
async function expectOrdinary(service: Service, first: number): Promise<void> {
  const body = "It fails since Monday, with a \\ and a 'quote'. ".repeat(40);
  const numbers = Array.from({ length: issues * perIssue }, (_, n) => first + (n % issues));
  const began = Date.now();
  const receipts = await Promise.all(numbers.map((number) => service.webhook(issueOpened({ repo, number, body }))));
  expect([...new Set(receipts.map(({ status }) => status))]).toEqual([202]);
  const ended = await waitForExecutions(service, { count: 2 * numbers.length });
  expect([...new Set(ended.map(({ state, error }) => `${state} ${error}`))]).toEqual(["succeeded null"]);
  for (let number = first; number < first + issues; number++) expect(textsOf(tracker, repo, number)).toHaveLength(4 * perIssue);
  const [event] = (
    await service.get<{ received_at: string; payload: { issue: { body: string } } }[]>(
      "/api/webhook-events?limit=1&fields=received_at,payload",
    )
  ).body;
  expect(event?.payload.issue.body).toBe(body);
  const receivedAt = Date.parse(String(event?.received_at));
  expect([receivedAt > began - 60_000, receivedAt < Date.now() + 60_000], event?.received_at).toEqual([true, true]);
  for (const path of ["/api/audit-log/verify", "/api/usage?group_by=day", "/api/status", `/api/subjects?q=${repo}`])
    expect([path, (await service.get(path)).status]).toEqual([path, 200]);
  expect(service.logs()).not.toContain('"level":"error"');
}

describe("a database with other defaults", { tags: ["postgres"], timeout: limit }, () => {
  test.each([
    ["of texts and numbers", texts, 1],
    ["of isolation and locks", concurrency, 100],
  ])("%s: nothing fails, and everything is shown as usual", async (_, settings, first) => {
    await using database = await freshDatabase();
    await changeDefaults(database, settings);
    await using service = await startService({
      databaseUrl: database.url,
      seed: true,
      webhookSecret,
      env: { ...surroundings(tracker, model), ...unhurried, EXECUTION_RETRY_LIMIT: "0" },
    });
    await expectOrdinary(service, first);
  });

  test("behind a pooler too; it names the defaults that a pooled session cannot change", { tags: ["pgbouncer"] }, async () => {
    await using database = await freshDatabase();
    await changeDefaults(database, texts);
    await using pooler = await startPooler(database.url);
    const env = { ...surroundings(tracker, model), ...unhurried, DIRECT_DATABASE_URL: database.url };
    await using service = await startService({ databaseUrl: pooler.url, seed: true, webhookSecret, env });
    await expectOrdinary(service, 200);
    expect(service.logs()).not.toContain("ALTER ROLE");
    await changeDefaults(database, concurrency);
    // The sessions that the first pooler has opened keep the old default.
    await using newPooler = await startPooler(database.url);
    await using again = await startService({ databaseUrl: newPooler.url, env });
    for (const setting of ["default_transaction_isolation = 'read committed'", "lock_timeout = 0"])
      expect(again.logs()).toContain(`ALTER ROLE … SET ${setting}`);
    expect(again.logs()).not.toContain("array_nulls");
  });
});
