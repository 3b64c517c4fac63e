import { freshDatabase } from "../harness/databases.ts";
import { startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";
import { retentionRows } from "./operate-retention.ts";
import { fillHistory } from "./operate-rows.ts";
import { report } from "./report.ts";

/** `--rows=N`: number of executions, with twice as many events and three steps each; `--quick`: 20,000. */
const rowsOf = (args: readonly string[]): number => {
  const given = args.find((one) => one.startsWith("--rows="))?.slice("--rows=".length);
  return given ? Number(given) : args.includes("--quick") ? 20_000 : 1_000_000;
};
const rounds = 100;
/** The latest days are summed first, so the day of the oldest execution is the last. */
const summed = `select day from usage_sums where day =
  (select (created_at at time zone 'UTC')::date from task_executions order by id limit 1)`;
/** Maximum median duration of each question, in milliseconds. */
const aimMs = 50;

const since = new Date(Date.now() - 30 * 86_400_000).toISOString();
const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
const questions: readonly (readonly [string, string])[] = [
  ["executions", "/api/task-executions"],
  ["executions, failed", "/api/task-executions?state=failed"],
  ["executions, failed within an hour", `/api/task-executions?state=failed&finished_from=${hourAgo}`],
  ["executions, finished within an hour", `/api/task-executions?finished_from=${hourAgo}`],
  ["executions, finished before a month", `/api/task-executions?finished_to=${since}`],
  ["executions, held", "/api/task-executions?state=held"],
  ["executions, by task", "/api/task-executions?task_id=first"],
  ["executions, by agent", "/api/task-executions?agent_id=pm_default"],
  ["executions, since a month", `/api/task-executions?from=${since}&order=asc`],
  ["executions, words of the error", "/api/task-executions?q=proxy%20503"],
  ["executions of an issue", "/api/task-executions?subject=octo/app1%2310"],
  ["events", "/api/webhook-events"],
  ["events, discarded", "/api/webhook-events?outcome=discarded"],
  ["events, words of the reason", "/api/webhook-events?q=mapping%203"],
  ["events, refused", "/api/webhook-events?outcome=refused"],
  ["tool executions", "/api/tool-executions"],
  ["tool executions, failed", "/api/tool-executions?status=failed"],
  ["issues found", "/api/subjects?q=octo/app1%2310"],
  ["issues found by number", "/api/subjects?q=10"],
  ["one issue", "/api/subjects/alpha/octo%2Fapp1/10"],
  ["usage of this month", "/api/usage"],
  ["usage by day", `/api/usage?from=${since}&group_by=day`],
  ["usage by project and model", `/api/usage?from=${since}&group_by=project,model`],
  ["status", "/api/status"],
  ["storage", "/api/storage"],
];

/** The questions of an operator, with a long history. */
export async function run(args: readonly string[]): Promise<void> {
  const count = rowsOf(args);
  await using database = await freshDatabase();
  const options = { databaseUrl: database.url, seed: true, env: { RETENTION_DISCARDED_DAYS: "0" } };
  const migrated = await startService(options);
  await migrated.close();
  await fillHistory(database.url, count);
  const rows: (readonly [string, number, number])[] = [];
  {
    await using service = await startService({ ...options, seed: false });
    // Past days are summed soon after a start. Until then, a request for the usage reads all executions.
    await eventually(async () => (await database.query(summed)).length > 0, { timeout: 300_000, interval: 500 });
    for (const [name, path] of questions) rows.push([name, ...(await timesOf(service.url + path))]);
  }
  const slow = rows.filter(([, p50]) => p50 > aimMs).map(([name]) => name);
  report({
    name: "operate",
    about: `${count} executions, ${count * 2} events, ${count * 3} steps; milliseconds of ${rounds} calls, one after the other`,
    columns: ["", "p50", "p99"],
    rows: [...rows, ...(await retentionRows({ databaseUrl: database.url }))],
    findings: [slow.length === 0 ? `all within ${aimMs} ms at the median` : `slower than ${aimMs} ms: ${slow.join(", ")}`],
  });
}

/** Median and 99th percentile of a call. */
async function timesOf(url: string): Promise<[number, number]> {
  const times: number[] = [];
  for (let round = -3; round < rounds; round++) {
    const began = performance.now();
    const answer = await fetch(url);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${text.slice(0, 500)}`);
    if (round >= 0) times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  return [times[Math.floor(rounds / 2)] ?? 0, times[Math.floor(rounds * 0.99)] ?? 0];
}
