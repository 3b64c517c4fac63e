import { readFileSync } from "node:fs";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { load } from "./load.ts";
import { report } from "./report.ts";
import { openSide, signalboxBefore } from "./side.ts";

const secret = "bench-secret";
const inFlight = 1_000;
const modelMs = 30_000;
const rounds = Number(process.argv.find((one) => one.startsWith("--rounds="))?.slice(9) ?? 3);

/** A thousand runs that wait for their model, on one replica: its memory, and ingest meanwhile. */
export async function run(): Promise<void> {
  const side = await openSide(modelMs);
  const service = await signalboxBefore(side, secret, { WORKER_CONCURRENCY: String(inFlight) });
  const door = () => load({ port: service.port, secret, connections: 8, requests: 400, event: "ping" });
  const idle = await door();
  const rows: (readonly [string, ...number[]])[] = [["idle", 0, megabytes(service.pid), idle.p50, idle.p99]];
  const payloads = Array.from({ length: rounds * inFlight }, (_, n) => issueOpened({ repo: "bench/app", number: n + 1 }));
  for (let round = 0; round < rounds; round++) {
    const before = await side.counts();
    const payload = (n: number) => payloads[round * inFlight + n] as object;
    await load({ port: service.port, secret, connections: 16, requests: inFlight, payload });
    let waiting = 0;
    const deadline = performance.now() + modelMs;
    while (waiting < inFlight && performance.now() < deadline) waiting = Math.max(waiting, (await side.counts()).asked);
    const { p50, p99 } = await door();
    rows.push([`round ${round + 1}`, waiting, megabytes(service.pid), p50, p99]);
    while ((await side.counts()).comments < before.comments + inFlight) await new Promise((done) => setTimeout(done, 100));
  }
  await service.close();
  await side.close();
  report({
    name: "waiting",
    about: `${inFlight} runs at a time on one replica, a model that takes ${modelMs / 1000} s`,
    columns: ["", "requests at the model at once", "resident MB", "door p50 ms", "door p99 ms"],
    rows,
    findings: ["every event got its comment"],
  });
}

/** Resident memory of a process. */
const megabytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
