import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Contender, limit, signalbox } from "./contender.ts";
import { at, load } from "./load.ts";
import { median, report } from "./report.ts";

const secret = "bench-secret";
const rounds = 3;
const task = { id: "bench_task", name: "Bench", description: "Comment on the issue.", actor_id: "pm_default" };

interface Side extends Contender {
  count(): Promise<number>;
}

/** The whole way from webhook to comment, against the same work with nothing stored. */
export async function run(): Promise<void> {
  const rows: (readonly [string, ...number[]])[] = [];
  const results = { none: [] as number[], ours: [] as number[] };
  for (const delay of [200, 0]) {
    for (const name of ["none", "ours"] as const) {
      const side = await startSide(delay);
      const contender =
        name === "none"
          ? await limit("in-process dispatch, nothing stored", "in-process", secret, `http://127.0.0.1:${side.port}`)
          : await ours(side);
      await throughput(contender, side, 500, 64);
      if (delay === 200) results[name].push(await overhead(contender, side, delay));
      const rates: number[] = [];
      for (let round = 0; round < rounds; round++) rates.push(await throughput(contender, side, delay === 0 ? 3000 : 2000, 128));
      results[name].push(median(rates));
      await contender.close();
      await side.close();
    }
  }
  const [o, o200, o0] = results.ours as [number, number, number];
  const [n, n200, n0] = results.none as [number, number, number];
  rows.push(
    ["in-process dispatch, nothing stored", n, n200, n0],
    ["Signalbox, PostgreSQL", o, o200, o0],
    ["ratio", o / n, o200 / n200, o0 / n0],
  );
  report({
    name: "e2e",
    about: "webhook → model → comment, one task per event, each on an issue of its own",
    columns: ["", "overhead p50 ms (200 ms model)", "events/s at 200 ms, 128 in flight", "events/s at 0 ms"],
    rows,
    findings: ["aims: overhead ≤ 1.7 ×, events/s ≥ 0.9 × at 200 ms and ≥ 0.75 × at 0 ms"],
  });
}

async function startSide(delay: number): Promise<Side> {
  const side = await limit("other side", "other-side", String(delay));
  const count = async () =>
    ((await (await fetch(`http://127.0.0.1:${side.port}/count`)).json()) as { comments: number }).comments;
  return { ...side, count };
}

async function ours(side: Side): Promise<Contender> {
  const url = `http://127.0.0.1:${side.port}`;
  const env = { ALPHA_TOKEN: "t", ALPHA_API_URL: url, LLM_BASE_URL: `${url}/v1`, LLM_API_KEY: "k", WORKER_CONCURRENCY: "128" };
  const service = await signalbox("Signalbox, PostgreSQL", { database: "postgres", webhookSecret: secret, env });
  await service.post("/api/agents/seed");
  await service.post("/api/tasks", task);
  await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: task.id });
  await service.post("/api/tasks/sources", {
    source: "alpha",
    event_name: "issues",
    action: "opened",
    canonical_trigger: "issue.created",
  });
  return service;
}

let issue = 0;
const payload = () => issueOpened({ repo: "bench/app", number: ++issue });

/** Events per second from the first webhook to the last comment. */
async function throughput({ port }: Contender, side: Side, requests: number, connections: number): Promise<number> {
  const before = await side.count();
  const bodies = Array.from({ length: requests }, payload);
  const began = performance.now();
  await load({ port, secret, connections, requests, payload: (n) => bodies[n] as object });
  while ((await side.count()) < before + requests) await new Promise((done) => setTimeout(done, 5));
  return requests / ((performance.now() - began) / 1000);
}

/** Median time from webhook to comment less the model's own, one event at a time; milliseconds. */
async function overhead({ port }: Contender, side: Side, delay: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 40; i++) {
    const before = await side.count();
    const began = performance.now();
    await load({ port, secret, connections: 1, requests: 1, payload });
    await new Promise((done) => setTimeout(done, delay - 20));
    while ((await side.count()) === before) await new Promise((done) => setImmediate(done));
    times.push(performance.now() - began - delay);
  }
  return at(
    times.sort((a, b) => a - b),
    0.5,
  );
}
