import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { claimExecutions } from "../../runtime/execution/queries.ts";
import { signalbox } from "./contender.ts";
import { at } from "./load.ts";
import { report } from "./report.ts";

const depth = 1_000_000;
const claims = 300;

/** How long a claim takes with a million executions queued, on three subjects and on 100,000. */
export async function run(args: readonly string[]): Promise<void> {
  const queued = args.includes("--quick") ? 50_000 : depth;
  // It creates the tables; with this role it claims nothing.
  const service = await signalbox("Signalbox", { database: "postgres", env: { SIGNALBOX_ROLE: "api" } });
  const sql = postgres(service.database ?? "", { max: 1, onnotice: () => {} });
  const rows: (readonly [string, ...number[]])[] = [];
  try {
    for (const subjects of [3, 100_000]) {
      await sql`truncate task_executions cascade`;
      await sql`
        insert into task_executions (id, task_id, canonical_trigger, source, slug, subject, content, created_at, run_after)
        select gen_random_uuid(), 'bench_task', 'issue.created', 'alpha', 'alpha', 'alpha:bench/app#' || n % ${subjects}, '',
          now() - interval '30 days' + n * interval '1 second', now() - interval '30 days' + n * interval '1 second'
        from generate_series(1, ${queued}) as n`;
      await sql`vacuum analyze task_executions`;
      for (const most of [1, 16]) {
        const times = await claimed(sql, most);
        rows.push([`${queued} on ${subjects} subjects, up to ${most}`, at(times, 0.5), at(times, 0.99)]);
      }
    }
  } finally {
    await sql.end();
    await service.close();
  }
  report({
    name: "depth",
    about: `a claim, with its execution ended before the next; ${claims} claims`,
    columns: ["queued", "p50 ms", "p99 ms"],
    rows,
    findings: ["aim: p50 ≤ 5 ms"],
  });
}

/** Durations of claims in milliseconds, ascending. The claimed executions end before the next claim, as if runs took no time. */
async function claimed(sql: postgres.Sql, most: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < claims; n++) {
    const request = {
      worker: randomUUID(),
      maxExecutions: most,
      leaseSeconds: 60,
      limits: {},
      share: null,
      leasedExecutions: [],
    };
    const began = performance.now();
    const found = await claimExecutions(sql as never, request);
    times.push(performance.now() - began);
    if (found.length === 0) throw new Error("nothing was claimed");
    const ids = found.map(({ id }) => id);
    await sql`
      update task_executions set state = 'succeeded', lease = null, lease_expires_at = null, finished_at = now() where id = any(${ids}::uuid[])`;
  }
  return times.sort((a, b) => a - b);
}
