import { freshDatabase } from "../harness/databases.ts";
import { type Contender, limit, oldVersion } from "./contender.ts";
import { costOf } from "./meter.ts";
import { median, report, spread } from "./report.ts";
import { openSide, type Side, signalboxBefore } from "./side.ts";
import { overhead, secret, throughput } from "./whole-way.ts";

const delays = [200, 0];
const aloneEvents = 40;

interface Readings {
  readonly overhead: number[];
  readonly rate: number[];
  /** Cost per event of the program and its database sessions: microseconds, transactions, bytes of the log. */
  readonly cpu: number[];
  /** The part of `cpu` that its database sessions used. */
  readonly database: number[];
  readonly transactions: number[];
  readonly wal: number[];
  /** The same when only one event at a time is in flight. */
  readonly aloneTransactions: number[];
}

/**
 * The whole path from webhook to comment, compared with the same work without storage, and with events and outcomes stored.
 * `--before=<commit>`: also with an earlier version.
 */
export async function run(args: readonly string[]): Promise<void> {
  const rounds = args.includes("--quick") ? 1 : 3;
  const many = args.includes("--quick") ? 500 : 3_000;
  await using database = await freshDatabase();
  for (const delay of delays) {
    const side = await openSide(delay);
    const old = await oldVersion(args);
    const workers = { WORKER_CONCURRENCY: "128" };
    const contenders: Contender[] = [
      await limit("in-process dispatch, nothing stored", "in-process", secret, side.url),
      {
        ...(await limit("grouped INSERT, in-process dispatch", "stored-dispatch", secret, database.url, side.url)),
        database: database.url,
      },
      await signalboxBefore(side, secret, workers),
      ...(old ? [await signalboxBefore(side, secret, workers, { old })] : []),
    ];
    const readings = contenders.map(
      (): Readings => ({ overhead: [], rate: [], cpu: [], database: [], transactions: [], wal: [], aloneTransactions: [] }),
    );
    // Code is compiled after some thousand runs; before that, an event costs twice as much.
    for (const contender of contenders) await throughput(contender, side, 3_000, 64);
    for (let round = 0; round < rounds; round++)
      for (const [i, contender] of contenders.entries()) await measure(contender, side, delay, many, readings[i] as Readings);
    for (const contender of contenders) await contender.close();
    await old?.close();
    await side.close();
    show(delay, rounds, contenders, readings);
  }
}

async function measure(contender: Contender, side: Side, delay: number, many: number, into: Readings): Promise<void> {
  const alone = await costOf(contender, () => overhead(contender, side, delay, aloneEvents));
  into.overhead.push(alone.result);
  into.aloneTransactions.push(alone.cost.transactions / aloneEvents);
  const { result, cost } = await costOf(contender, () => throughput(contender, side, many, 128));
  into.rate.push(result.rate);
  into.cpu.push(((cost.program + cost.database) * 1000) / many);
  into.database.push((cost.database * 1000) / many);
  into.transactions.push(cost.transactions / many);
  into.wal.push(cost.wal / many);
}

function show(delay: number, rounds: number, contenders: readonly Contender[], readings: readonly Readings[]): void {
  const [direct, stored, ours] = readings as [Readings, Readings, Readings];
  const before = readings[3];
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
      "transactions/event, one at a time",
    ],
    rows: contenders.map(({ name }, i) => {
      const { overhead, rate, cpu, database, transactions, wal, aloneTransactions } = readings[i] as Readings;
      return [name, ...[overhead, rate, cpu, database, transactions, wal, aloneTransactions].map(median)];
    }),
    findings: [
      `events/s ÷ nothing stored: ${ratio(direct, "rate")}, ÷ grouped INSERT: ${ratio(stored, "rate")}; CPU × ${ratio(stored, "cpu")}`,
      `overhead ÷ nothing stored: ${ratio(direct, "overhead")}`,
      ...(before
        ? [
            `÷ the version before: events/s ${ratio(before, "rate")}, overhead ${ratio(before, "overhead")}, CPU ${ratio(before, "cpu")}`,
          ]
        : []),
      delay === 0 ? "aim: ≥ 0.85 × grouped INSERT, overhead ≤ 1.7 ×" : "aim: ≥ 0.9 × nothing stored, overhead ≤ 1.7 ×",
    ],
  });
}
