import { freshDatabase } from "../harness/databases.ts";
import { type Contender, limit, oldVersion, signalbox } from "./contender.ts";
import { load } from "./load.ts";
import { costOf } from "./meter.ts";
import { median, report, spread } from "./report.ts";

const secret = "bench-secret";
const all = [
  { connections: 1, requests: 1500 },
  { connections: 16, requests: 6000 },
  { connections: 64, requests: 8000 },
];
type Levels = typeof all;

/**
 * Durable ingest of a signed webhook, compared with the minimal programs that could do it. `--before=<commit>`: also with an earlier
 * version.
 */
export async function run(args: readonly string[]): Promise<void> {
  const isQuick = args.includes("--quick");
  const rounds = isQuick ? 1 : 3;
  const levels = isQuick ? all.map((level) => ({ ...level, requests: level.requests / 4 })) : all;
  await using database = await freshDatabase();
  if (!database) throw new Error("The benchmark needs TEST_DATABASE_URL.");
  const old = await oldVersion(args);
  const env = { SIGNALBOX_ROLE: "api" };
  const event = { webhookSecret: secret, env };
  const contenders: Contender[] = [
    await limit("node:http + HMAC, nothing stored", "nothing-stored", secret),
    { ...(await limit("Hono, one INSERT per request, lz4", "single-insert", secret, database.url)), database: database.url },
    { ...(await limit("Hono, grouped INSERT, lz4", "grouped-insert", secret, database.url)), database: database.url },
    await signalbox("Signalbox, PostgreSQL, event only", { database: "postgres", ...event }),
    await signalbox("Signalbox, PostgreSQL, event + 2 executions", {
      database: "postgres",
      ...event,
      seed: true,
    }),
    ...(isQuick ? [] : [await signalbox("Signalbox, embedded, event only", event)]),
    ...(old ? [await signalbox(`Signalbox, ${old.commit}, PostgreSQL, event only`, { ...event, ...old.options })] : []),
  ];
  const { rates, costs } = await measure(contenders, levels, rounds);
  for (const contender of contenders) await contender.close();
  await old?.close();

  const [, single = "", grouped = "", ours = ""] = contenders.map(({ name }) => name);
  const ratio = (level: number, limit: string) =>
    spread((rates.get(ours)?.[level] ?? []).map((one, round) => one / (rates.get(limit)?.[level]?.[round] ?? 1)));
  const cpu = (name: string, level: number) => median(costs.get(name)?.[level] ?? []);
  const cpuRatio = (level: number, limit: string) => (cpu(ours, level) / cpu(limit, level)).toFixed(2);
  report({
    name: "ingest",
    about: `signed 11 KB webhook, durably stored; requests/s, median of ${rounds} interleaved rounds; CPU of program and database per event, µs`,
    columns: ["", ...levels.flatMap(({ connections }) => [`${connections} conn.`, "CPU"])],
    rows: contenders.map(({ name }) => [name, ...levels.flatMap((_, i) => [median(rates.get(name)?.[i] ?? []), cpu(name, i)])]),
    findings: [
      `event only ÷ single INSERT at 1 connection: ${ratio(0, single)} (aim: ≥ 0.8), CPU × ${cpuRatio(0, single)}`,
      `event only ÷ grouped INSERT at 16: ${ratio(1, grouped)}, at 64: ${ratio(2, grouped)} (aim: ≥ 0.85), CPU × ${cpuRatio(1, grouped)} and × ${cpuRatio(2, grouped)}`,
    ],
  });
}

type Readings = Map<string, number[][]>;

/** Requests per second, and CPU microseconds per request, of every contender at every level, by rounds. */
async function measure(
  contenders: readonly Contender[],
  levels: Levels,
  rounds: number,
): Promise<{ rates: Readings; costs: Readings }> {
  const empty = () => new Map(contenders.map(({ name }) => [name, levels.map((): number[] => [])]));
  const [rates, costs] = [empty(), empty()];
  for (const { port } of contenders) await load({ port, secret, connections: 16, requests: 1000 });
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      const { name, port } = contender;
      for (const [i, level] of levels.entries()) {
        const { result, cost } = await costOf(contender, () => load({ port, secret, ...level }));
        const bad = Object.keys(result.statuses).filter((status) => !status.startsWith("2"));
        if (bad.length > 0) throw new Error(`${name} answered ${JSON.stringify(result.statuses)}`);
        rates.get(name)?.[i]?.push(result.perSecond);
        costs.get(name)?.[i]?.push(((cost.program + cost.database) * 1000) / level.requests);
      }
    }
  }
  return { rates, costs };
}
