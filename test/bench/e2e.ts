import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { type Contender, limit } from "./contender.ts";
import { at, load } from "./load.ts";
import { costOf } from "./meter.ts";
import { median, report, spread } from "./report.ts";
import { openSide, type Side, signalboxBefore } from "./side.ts";

const secret = "bench-secret";
const delays = [200, 0];

interface Readings {
  readonly overhead: number[];
  readonly rate: number[];
  /** Of the program and its sessions at the database, for each event: microseconds, transactions, bytes of the log. */
  readonly cpu: number[];
  /** The part of `cpu` that its sessions took. */
  readonly database: number[];
  readonly transactions: number[];
  readonly wal: number[];
}

/** The whole way from webhook to comment, against the same work with nothing stored, and with events and outcomes stored. */
export async function run(args: readonly string[]): Promise<void> {
  const rounds = args.includes("--quick") ? 1 : 3;
  const many = args.includes("--quick") ? 500 : 3_000;
  await using database = await freshDatabase();
  for (const delay of delays) {
    const side = await openSide(delay);
    const contenders: Contender[] = [
      await limit("in-process dispatch, nothing stored", "in-process", secret, side.url),
      {
        ...(await limit("grouped INSERT, in-process dispatch", "stored-dispatch", secret, database.url, side.url)),
        database: database.url,
      },
      await signalboxBefore(side, secret, { WORKER_CONCURRENCY: "128" }),
    ];
    const readings = contenders.map(
      (): Readings => ({ overhead: [], rate: [], cpu: [], database: [], transactions: [], wal: [] }),
    );
    // Code that has run some thousand times is compiled: before that, an event costs twice as much.
    for (const contender of contenders) await throughput(contender, side, 3_000, 64);
    for (let round = 0; round < rounds; round++)
      for (const [i, contender] of contenders.entries()) await measure(contender, side, delay, many, readings[i] as Readings);
    for (const contender of contenders) await contender.close();
    await side.close();
    show(delay, rounds, contenders, readings);
  }
}

async function measure(contender: Contender, side: Side, delay: number, many: number, into: Readings): Promise<void> {
  into.overhead.push(await overhead(contender, side, delay));
  const { result, cost } = await costOf(contender, () => throughput(contender, side, many, 128));
  into.rate.push(result);
  into.cpu.push(((cost.program + cost.database) * 1000) / many);
  into.database.push((cost.database * 1000) / many);
  into.transactions.push(cost.transactions / many);
  into.wal.push(cost.wal / many);
}

function show(delay: number, rounds: number, contenders: readonly Contender[], readings: readonly Readings[]): void {
  const [direct, stored, ours] = readings as [Readings, Readings, Readings];
  const ratio = (limit: Readings, what: keyof Readings) => spread(ours[what].map((one, i) => one / (limit[what][i] ?? 1)));
  report({
    name: `e2e-${delay}`,
    about: `webhook → model (${delay} ms) → comment, one task for each event, an issue each; medians of ${rounds} interleaved rounds`,
    columns: [
      "",
      "overhead p50 ms",
      "events/s, 128 in flight",
      "CPU µs/event",
      "of the database",
      "transactions/event",
      "log bytes/event",
    ],
    rows: contenders.map(({ name }, i) => {
      const { overhead, rate, cpu, database, transactions, wal } = readings[i] as Readings;
      return [name, ...[overhead, rate, cpu, database, transactions, wal].map(median)];
    }),
    findings: [
      `events/s ÷ nothing stored: ${ratio(direct, "rate")}, ÷ grouped INSERT: ${ratio(stored, "rate")}; CPU × ${ratio(stored, "cpu")}`,
      `overhead ÷ nothing stored: ${ratio(direct, "overhead")}`,
      delay === 0 ? "aim: ≥ 0.85 × grouped INSERT, overhead ≤ 1.7 ×" : "aim: ≥ 0.9 × nothing stored, overhead ≤ 1.7 ×",
    ],
  });
}

let issue = 0;
const payload = () => issueOpened({ repo: "bench/app", number: ++issue });

/** Events per second from the first webhook to the last comment. */
async function throughput({ port }: Contender, side: Side, requests: number, connections: number): Promise<number> {
  const before = (await side.counts()).comments;
  const bodies = Array.from({ length: requests }, payload);
  const began = performance.now();
  await load({ port, secret, connections, requests, payload: (n) => bodies[n] as object });
  while ((await side.counts()).comments < before + requests) await new Promise((done) => setTimeout(done, 5));
  return requests / ((performance.now() - began) / 1000);
}

/** Median time from webhook to comment less the model's own, one event at a time; milliseconds. */
async function overhead({ port }: Contender, side: Side, delay: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 40; i++) {
    const before = (await side.counts()).comments;
    const began = performance.now();
    await load({ port, secret, connections: 1, requests: 1, payload });
    await new Promise((done) => setTimeout(done, Math.max(0, delay - 20)));
    while ((await side.counts()).comments === before) await new Promise((done) => setImmediate(done));
    times.push(performance.now() - began - delay);
  }
  return at(
    times.sort((a, b) => a - b),
    0.5,
  );
}
