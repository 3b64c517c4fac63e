import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { freshDatabase } from "../harness/databases.ts";
import { type Contender, limit, program } from "./contender.ts";
import { costOf } from "./meter.ts";
import { median, report, spread } from "./report.ts";
import { openSide, signalboxBefore } from "./side.ts";
import { overhead, secret, throughput } from "./whole-way.ts";

const queues = ["bullmq", "graphile-worker", "pg-boss"] as const;
const folder = fileURLToPath(new URL("./rivals", import.meta.url));

const n8n = { folder: fileURLToPath(new URL("../../node_modules/.cache/signalbox/n8n", import.meta.url)), package: "n8n@2.40.7" };

/** Installed at first use, because the repository itself does not need them. `withN8n`: another 2 GB. */
function install(withN8n: boolean): void {
  const npm = (args: readonly string[], cwd: string) =>
    execFileSync("npm", [...args, "--ignore-scripts", "--no-audit", "--no-fund"], { cwd, stdio: "inherit" });
  if (!existsSync(`${folder}/node_modules/bullmq`)) npm(["ci"], folder);
  if (!withN8n || existsSync(`${n8n.folder}/node_modules/n8n`)) return;
  mkdirSync(n8n.folder, { recursive: true });
  writeFileSync(`${n8n.folder}/package.json`, '{ "private": true }');
  npm(["install", n8n.package, "--legacy-peer-deps"], n8n.folder);
}

interface Readings {
  readonly rate: number[];
  readonly overhead: number[];
  readonly cpu: number[];
}

/**
 * The whole path from webhook to comment with other job queues. They have no order, no transcript and no check for an existing
 * comment, and post a second one after a crash. `--n8n`: also with n8n, which stores nothing in its fastest setting.
 */
export async function run(args: readonly string[]): Promise<void> {
  const withN8n = args.includes("--n8n");
  install(withN8n);
  const isQuick = args.includes("--quick");
  const [rounds, many] = isQuick ? [1, 500] : [3, 2_000];
  const redis = process.env.TEST_REDIS_URL;
  if (!redis) throw new Error("The benchmark needs TEST_REDIS_URL.");
  for (const delay of [0, 200]) {
    await using databases = new AsyncDisposableStack();
    const fresh = async () => databases.use(await freshDatabase()).url;
    const side = await openSide(delay);
    const before = async (name: string, start: (database: string) => Promise<Contender>): Promise<Contender> => {
      const database = await fresh();
      return { ...(await start(database)), name, database };
    };
    const contenders: Contender[] = [
      await before("grouped INSERT, in-process dispatch", (database) => limit("", "stored-dispatch", secret, database, side.url)),
      await signalboxBefore(side, secret, { WORKER_CONCURRENCY: "128" }),
    ];
    for (const queue of queues)
      contenders.push(
        await before(queue, (database) => program("", "rivals/rival.mjs", queue, secret, side.url, database, redis)),
      );
    if (withN8n)
      contenders.push(await before("n8n", (database) => program("", "rivals/n8n.mjs", n8n.folder, side.url, database)));
    const readings = contenders.map((): Readings => ({ rate: [], overhead: [], cpu: [] }));
    for (const contender of contenders) await throughput(contender, side, 3_000, 64);
    for (let round = 0; round < rounds; round++) {
      for (const [i, contender] of contenders.entries()) {
        const into = readings[i] as Readings;
        into.overhead.push(await overhead(contender, side, delay, 20));
        const { result, cost } = await costOf(contender, () => throughput(contender, side, many, 128));
        into.rate.push(result.rate);
        into.cpu.push(((cost.program + cost.database) * 1000) / many);
      }
    }
    for (const contender of contenders) await contender.close();
    await side.close();
    show(delay, rounds, contenders, readings);
  }
}

function show(delay: number, rounds: number, contenders: readonly Contender[], readings: readonly Readings[]): void {
  const ours = readings[1] as Readings;
  const ratio = (rival: Readings, what: keyof Readings) => spread(ours[what].map((one, i) => one / (rival[what][i] ?? 1)));
  report({
    name: `rivals-${delay}`,
    about: `webhook → model (${delay} ms) → comment, 128 in flight; medians of ${rounds} interleaved rounds; CPU of the program and its PostgreSQL sessions, without Redis`,
    columns: ["", "events/s", "overhead p50 ms", "CPU µs/event"],
    rows: contenders.map(({ name }, i) => {
      const { rate, overhead, cpu } = readings[i] as Readings;
      return [name, median(rate), median(overhead), median(cpu)];
    }),
    findings: contenders.flatMap(({ name }, i) =>
      i === 1
        ? []
        : `Signalbox ÷ ${name}: events/s ${ratio(readings[i] as Readings, "rate")}, overhead ${ratio(readings[i] as Readings, "overhead")}`,
    ),
  });
}
