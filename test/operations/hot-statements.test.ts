import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { recordStatements } from "../harness/statement-recorder.ts";
import { eventually } from "../harness/wait.ts";
import { startWorld, textsOf } from "../harness/world.ts";

/**
 * The statements that run for every event. If data is partitioned by the subject of events, a statement that names the subject,
 * or executions, which belong to one, concerns one partition; the two that look for work concern all of them
 * (.docs/guides/scale.md).
 */
const known = [
  { name: "stores events and executions", text: /\binsert into webhook_events\b/, key: /\bsubject\b/ },
  {
    name: "stores steps and outcomes of runs",
    text: /^with given as \(select \* from json_to_recordset/,
    key: /\bid, subject, lease, state from task_executions where id = any\(\$2::uuid\[\]\)/,
  },
  { name: "claims executions", text: /\bfrom claim_executions\(/, key: null },
  { name: "looks when executions are due", text: /\bnext_execution_due\(\)/, key: null },
] as const;

const repo = "octo/app";
const events = 40;

test("every statement that runs for each event carries a key, but those that look for work", { tags: ["postgres"] }, async () => {
  await using database = await freshDatabase("migrated");
  await using recorder = await recordStatements(database?.url ?? "");
  await using world = await startWorld({
    databaseUrl: recorder.url,
    tasks: ["summarize"],
    env: { EXECUTION_LEASE_SECONDS: "600", BUDGET_AUTHOR_RUNS_PER_HOUR: "10000" },
  });
  const run = async (first: number) => {
    const numbers = Array.from({ length: events }, (_, at) => first + at);
    for (const number of numbers) await world.service.webhook(issueOpened({ repo, number }));
    await eventually(() => numbers.every((number) => textsOf(world.tracker, repo, number).length === 1));
  };
  await run(1);
  let sweeps = Number.POSITIVE_INFINITY;
  // Again if a busy machine takes so long that sweeps run as often as what runs for each event.
  for (let first = 1_000; sweeps > events / 4; first += 1_000) {
    expect(first, "the machine holds up all events").toBeLessThan(20_000);
    recorder.clear();
    const began = performance.now();
    await run(first);
    // No sweep runs more often than once a second, even on a slow machine.
    sweeps = (performance.now() - began) / 1_000;
  }
  const counted = [...recorder.counts()].map(([text, count]) => ({
    text,
    count,
    is: known.filter((one) => one.text.test(text)),
  }));
  // A session discards its plans now and then, which concerns no table.
  const unknown = counted.filter(
    ({ text, is, count }) => is.length !== 1 && text !== "discard plans" && count >= events / 10 + sweeps,
  );
  expect(unknown.map(({ text }) => text)).toEqual([]);
  const named = counted.filter(({ is, count }) => is.length === 1 && count >= events / 10);
  expect(new Set(named.map(({ is }) => is[0]?.name))).toEqual(new Set(known.map(({ name }) => name)));
  expect(named.filter(({ text, is }) => is[0]?.key?.test(text) === false)).toEqual([]);
});
