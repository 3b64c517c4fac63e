import { freshDatabase } from "../harness/databases.ts";
import { load } from "./load.ts";
import { costOf } from "./meter.ts";
import { report } from "./report.ts";
import { openSide, signalboxBefore } from "./side.ts";
import { secret, throughput } from "./whole-way.ts";

const events = 2_000;

/** Replicas that share one database: the number with each role. */
const shapes = [
  { all: 1, api: 0, worker: 0 },
  { all: 2, api: 0, worker: 0 },
  { all: 4, api: 0, worker: 0 },
  { all: 0, api: 1, worker: 1 },
  { all: 0, api: 2, worker: 2 },
] as const;
type Shape = (typeof shapes)[number];

const nameOf = (shape: Shape): string =>
  Object.entries(shape)
    .filter(([, count]) => count > 0)
    .map(([role, count]) => `${count} ${role === "all" ? "with both roles" : role}`)
    .join(", ");

/**
 * 1, 2 and 4 replicas on one database, with combined and separate roles: the whole path with a model that answers immediately,
 * and ingest.
 */
export async function run(): Promise<void> {
  const rows: (readonly [string, ...number[]])[] = [];
  for (const shape of shapes) {
    const side = await openSide(0);
    await using database = await freshDatabase();
    const replicas = [];
    for (const [role, count] of Object.entries(shape)) {
      const env = { SIGNALBOX_ROLE: role, WORKER_CONCURRENCY: "64" };
      for (let i = 0; i < count; i++)
        replicas.push({ role, ...(await signalboxBefore(side, secret, env, { databaseUrl: database.url })) });
    }
    const ports = replicas.filter(({ role }) => role !== "worker").map(({ port }) => port);
    await throughput({ port: ports }, side, events, 64);
    const measured = { pid: replicas.map(({ pid }) => pid), database: database.url };
    const way = await costOf(measured, () => throughput({ port: ports }, side, events, 64));
    const door = await load({ port: ports, secret, connections: 32, requests: events, event: "ping" });
    rows.push([
      nameOf(shape),
      way.result.rate,
      way.result.p50,
      way.result.p99,
      (way.cost.program * 1000) / events,
      (way.cost.database * 1000) / events,
      way.cost.transactions / events,
      door.perSecond,
      door.p99,
    ]);
    for (const replica of replicas) await replica.close();
    await side.close();
  }
  report({
    name: "scale",
    about: `replicas on one database; ${events} events from webhook to comment with a model that answers at once, an issue each`,
    columns: [
      "",
      "events/s",
      "answer p50 ms",
      "p99 ms",
      "CPU µs/event: services",
      "database",
      "transactions/event",
      "door only/s",
      "p99 ms",
    ],
    rows,
    findings: ["the load, the model, the tracker and the database run on the same machine"],
  });
}
