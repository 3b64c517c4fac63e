import { freshDatabase } from "../harness/databases.ts";
import { type Contender, limit, signalbox } from "./contender.ts";
import { load } from "./load.ts";
import { median, report } from "./report.ts";

const secret = "bench-secret";
const rounds = 3;
const levels = [
  { connections: 1, requests: 1500 },
  { connections: 16, requests: 6000 },
  { connections: 64, requests: 8000 },
];

/** Ingest of a signed webhook, durably stored, against the least that could do it. */
export async function run(): Promise<void> {
  await using database = await freshDatabase();
  if (!database) throw new Error("The benchmark needs TEST_DATABASE_URL.");
  const env = { SIGNALBOX_ROLE: "api" };
  const contenders: Contender[] = [
    await limit("node:http + HMAC, nothing stored", "nothing-stored", secret),
    await limit("Hono, one INSERT per request, lz4", "single-insert", secret, database.url),
    await limit("Hono, grouped INSERT, lz4", "grouped-insert", secret, database.url),
    await signalbox("Signalbox, PostgreSQL, event only", { database: "postgres", webhookSecret: secret, env }),
    await signalbox("Signalbox, PostgreSQL, event + 2 executions", {
      database: "postgres",
      webhookSecret: secret,
      env,
      seed: true,
    }),
    await signalbox("Signalbox, embedded, event only", { webhookSecret: secret, env }),
  ];
  const rates = await measure(contenders);
  for (const contender of contenders) await contender.close();

  const grouped = rates.get(contenders[2]?.name ?? "") ?? [];
  const single = rates.get(contenders[1]?.name ?? "") ?? [];
  const ours = rates.get(contenders[3]?.name ?? "") ?? [];
  const ratio = (i: number, limits: number[]) => (ours[i] ?? 0) / (limits[i] ?? 1);
  report({
    name: "ingest",
    about: `signed 11 KB webhook, durably stored; requests/s, median of ${rounds} interleaved rounds`,
    columns: ["", ...levels.map(({ connections }) => `${connections} connection${connections > 1 ? "s" : ""}`)],
    rows: contenders.map(({ name }) => [name, ...(rates.get(name) ?? [])]),
    findings: [
      `event only ÷ single INSERT at 1 connection: ${ratio(0, single).toFixed(2)} (aim: p50 ≤ 1.3 ×, that is ≥ 0.77)`,
      `event only ÷ grouped INSERT at 16: ${ratio(1, grouped).toFixed(2)}, at 64: ${ratio(2, grouped).toFixed(2)} (aim: ≥ 0.8)`,
    ],
  });
}

async function measure(contenders: readonly Contender[]): Promise<Map<string, number[]>> {
  const all = new Map(contenders.map(({ name }) => [name, levels.map((): number[] => [])]));
  for (const { port } of contenders) await load({ port, secret, connections: 16, requests: 1000 });
  for (let round = 0; round < rounds; round++) {
    for (const { name, port } of contenders) {
      for (const [i, level] of levels.entries()) {
        const { perSecond, statuses } = await load({ port, secret, ...level });
        const bad = Object.keys(statuses).filter((status) => !status.startsWith("2"));
        if (bad.length > 0) throw new Error(`${name} answered ${JSON.stringify(statuses)}`);
        all.get(name)?.[i]?.push(perSecond);
      }
    }
  }
  return new Map([...all].map(([name, perLevel]) => [name, perLevel.map(median)]));
}
