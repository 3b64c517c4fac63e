import type { Flavour } from "../harness/databases.ts";
import { startService } from "../harness/service.ts";
import { cpuOf } from "./meter.ts";
import { median, report, spread } from "./report.ts";

const rounds = 7;

/** CPU of a start from the sources, on a database that an earlier start has prepared, with compiled code in Node's cache. */
export async function run(): Promise<void> {
  const readings: Record<Flavour, number>[] = [];
  for (let round = 0; round < rounds; round++)
    readings.push({ postgres: await costOfStart("postgres"), embedded: await costOfStart("embedded") });
  report({
    name: "start",
    about: `CPU of a start until GET /health answers; medians of ${rounds} interleaved starts`,
    columns: ["", "CPU ms"],
    rows: (["postgres", "embedded"] as const).map((one) => [one, median(readings.map((reading) => reading[one]))]),
    findings: [`embedded ÷ postgres: ${spread(readings.map(({ embedded, postgres }) => embedded / postgres))}`],
  });
}

async function costOfStart(database: Flavour): Promise<number> {
  await using service = await startService({ database });
  await service.restart();
  return cpuOf(service.pid);
}
