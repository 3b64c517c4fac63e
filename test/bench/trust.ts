import { issueOpened } from "../harness/alpha-payloads.ts";
import { type FreshDatabase, freshDatabase } from "../harness/databases.ts";
import { type Service, startService } from "../harness/service.ts";
import { type Contender, limit } from "./contender.ts";
import { load } from "./load.ts";
import { preciseCpuOf } from "./meter.ts";
import { median, report } from "./report.ts";
import { withoutPolicy } from "./without-policy.ts";

const secret = "bench-secret";
const task = { id: "bench_task", name: "Bench", description: "Comment on the issue.", actor_id: "pm_default" };
interface Side extends AsyncDisposable {
  readonly service: Service;
  readonly database: FreshDatabase;
  readonly tracker: Contender;
}
interface Figures {
  /** Events per second. */
  readonly rate: number;
  /** CPU time of the service and of its PostgreSQL sessions, in milliseconds per event. */
  readonly serviceMs: number;
  readonly databaseMs: number;
}

/**
 * The cost of the gate, loops, budgets and the ledger of own writes: the normal service, compared with the same service on a
 * database whose functions for them do nothing, and with settings that turn them off. Both receive the same events at the same
 * time, so that the load of the machine affects both equally. `--rounds=N`, `--events=N`.
 */
export async function run(args: readonly string[]): Promise<void> {
  const given = (name: string, fallback: number) =>
    Number(args.find((one) => one.startsWith(`--${name}=`))?.split("=")[1] ?? fallback);
  const [rounds, events] = [given("rounds", 25), given("events", 600)];
  await using sides = new AsyncDisposableStack();
  const kinds: Record<Kind, [Figures[], Figures[]]> = { ingest: [[], []], "webhook to comment": [[], []] };
  const pairs = {} as Record<Kind, readonly [Side, Side]>;
  for (const kind of Object.keys(kinds) as Kind[]) {
    pairs[kind] = [sides.use(await start(kind, {})), sides.use(await start(kind, turnedOff))];
    for (const statement of withoutPolicy) await pairs[kind][1].database.query(statement);
    for (const side of pairs[kind]) await measure(side, kind, 500);
  }
  for (let round = 0; round < rounds; round++)
    for (const kind of Object.keys(kinds) as Kind[])
      for (const [n, figures] of (await Promise.all(pairs[kind].map((side) => measure(side, kind, events)))).entries())
        kinds[kind][n]?.push(figures);
  const rows = (Object.keys(kinds) as Kind[]).flatMap((kind) =>
    kinds[kind].map((all, n) => [
      `${kind}, ${n === 0 ? "with" : "without"}`,
      ...members.map((member) => median(all.map((one) => one[member]))),
    ]),
  ) as [string, number, number, number][];
  const findings = (Object.keys(kinds) as Kind[]).map((kind) => {
    const [with_, without] = kinds[kind];
    const cost = (of: (one: Figures) => number) => quartiles(with_.map((one, i) => of(one) / of(without[i] as Figures)));
    return `${kind}: the policy costs ${cost((one) => one.serviceMs + one.databaseMs)} of CPU time, ${cost((one) => 1 / one.rate)} of wall time (median and quartiles of ${rounds} pairs; aim: ≤ 5 %)`;
  });
  report({
    name: "trust",
    about: `gate, loops, budgets and the ledger of own writes, with and without; ${events} events in each of ${rounds} rounds`,
    columns: ["", "events/s", "service CPU ms/event", "PostgreSQL CPU ms/event"],
    rows,
    findings,
  });
}

/** The cost as ratios to 1: `4.1 % (1.0 to 7.3 %)`. */
function quartiles(ratios: readonly number[]): string {
  const sorted = [...ratios].sort((a, b) => a - b);
  const at = (part: number) => (((sorted[Math.floor((sorted.length - 1) * part)] ?? 1) - 1) * 100).toFixed(1);
  return `${at(0.5)} % (${at(0.25)} to ${at(0.75)} %)`;
}

type Kind = "ingest" | "webhook to comment";
const turnedOff = { LOOP_MAX_HOPS: "0", LOOP_WINDOW_SECONDS: "0", UPDATE_DEBOUNCE_SECONDS: "0" };
const members = ["rate", "serviceMs", "databaseMs"] as const;

async function start(kind: Kind, env: Record<string, string>): Promise<Side> {
  const database = await freshDatabase();
  const tracker = await limit("other side", "other-side", "0");
  const url = `http://127.0.0.1:${tracker.port}`;
  const service = await startService({
    databaseUrl: database.url,
    webhookSecret: secret,
    env: {
      ALPHA_TOKEN: "t",
      ALPHA_API_URL: url,
      LLM_BASE_URL: `${url}/v1`,
      LLM_API_KEY: "k",
      WORKER_CONCURRENCY: "128",
      ...env,
      ...(kind === "ingest" && { SIGNALBOX_ROLE: "api" }),
    },
  });
  await service.post("/api/agents/seed");
  await service.post("/api/tasks", task);
  await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: task.id });
  const mapping = { source: "alpha", event_name: "issues", canonical_trigger: "issue.created" };
  await service.post("/api/tasks/sources", { ...mapping, action: "opened" });
  const close = async () => {
    await service.close();
    await tracker.close();
    await database.drop();
  };
  return { service, database, tracker, [Symbol.asyncDispose]: close };
}

let issue = 0;

async function measure(side: Side, kind: Kind, events: number): Promise<Figures> {
  const bodies = Array.from({ length: events }, () => issueOpened({ repo: "bench/app", number: ++issue }));
  const comments = await count(side);
  const before = await used(side);
  const began = performance.now();
  const port = Number(new URL(side.service.url).port);
  await load({ port, secret, connections: 64, requests: events, payload: (n) => bodies[n] as object });
  if (kind !== "ingest") while ((await count(side)) < comments + events) await new Promise((done) => setTimeout(done, 5));
  const seconds = (performance.now() - began) / 1000;
  // Its last writes.
  await new Promise((done) => setTimeout(done, 300));
  const after = await used(side);
  const each = (member: keyof typeof after) => (after[member] - before[member]) / events;
  return { rate: events / seconds, serviceMs: each("service"), databaseMs: each("database") };
}

const count = async ({ tracker }: Side) =>
  ((await (await fetch(`http://127.0.0.1:${tracker.port}/count`)).json()) as { comments: number }).comments;

async function used({ service, database }: Side): Promise<{ service: number; database: number }> {
  const sessions = await database.query(
    "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  const cpu = sessions.map(({ pid }) => preciseCpuOf(Number(pid)));
  return { service: preciseCpuOf(service.pid), database: cpu.reduce((sum, one) => sum + one, 0) };
}
