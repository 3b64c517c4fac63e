import { issueOpened } from "../harness/alpha-payloads.ts";
import { type ServiceOptions, startService } from "../harness/service.ts";
import { load } from "./load.ts";

const secret = ["bench", "secret"].join("-");
const requests = 1_500;
const connections = 4;
const kept = {
  RETENTION_EVENT_DAYS: "0",
  RETENTION_TRANSCRIPT_DAYS: "0",
  RETENTION_HISTORY_DAYS: "0",
  RETENTION_DISCARDED_DAYS: "0",
};
/** Most of the history is due immediately. */
const removed = {
  RETENTION_EVENT_DAYS: "20",
  RETENTION_TRANSCRIPT_DAYS: "20",
  RETENTION_HISTORY_DAYS: "40",
  RETENTION_DISCARDED_DAYS: "7",
};
/** Time from the start to the first pass, in milliseconds. */
const firstPassMs = 11_000;

/** Ingest while nothing is due, and while a pass of retention removes due data: rows of p50 and p99, in milliseconds. */
export async function retentionRows(options: ServiceOptions): Promise<(readonly [string, number, number])[]> {
  const rows: (readonly [string, number, number])[] = [];
  for (const [name, env] of [
    ["ingest, no retention", kept],
    ["ingest while retention removes", removed],
  ] as const) {
    await using service = await startService({
      ...options,
      webhookSecret: secret,
      env: { ...options.env, ...env, SIGNALBOX_ROLE: "all" },
    });
    await new Promise((done) => setTimeout(done, firstPassMs));
    const before = await due(service.url);
    const payload = (n: number) => ({ ...issueOpened({ repo: "bench/app", number: n }), action: "pinned" });
    const port = Number(new URL(service.url).port);
    const { p50, p99, statuses } = await load({ port, connections, requests, secret, payload });
    if (Object.keys(statuses).some((status) => !/^20[02]$/.test(status)))
      throw new Error(`ingest answered ${JSON.stringify(statuses)}`);
    const after = await due(service.url);
    process.stdout.write(`${name}: due before ${before}, after ${after}\n`);
    rows.push([name, p50, p99]);
  }
  return rows;
}

async function due(url: string): Promise<string> {
  const { retention } = (await (await fetch(`${url}/api/storage`)).json()) as { retention: { what: string; due: number }[] };
  return retention.map(({ due }) => due).join(", ");
}
