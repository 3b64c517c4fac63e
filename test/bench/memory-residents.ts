import { readFileSync } from "node:fs";
import type { Service } from "../harness/service.ts";
import { type Asked, ourSearch, post, timed } from "./memory-contenders.ts";
import type { Row } from "./memory-rows.ts";

const clients = 8;
const warmUp = 4_000;
const readings = 12;
const searchesEach = 1_000;
const insertsEach = 100;

/** Measures whether the service's resident memory grows under searches and inserts, after a warm-up. */
export async function residents(service: Service, question: () => Asked, row: () => Row): Promise<string[]> {
  const search = ourSearch(service.url);
  const ask = (many: number) =>
    timed(
      Array.from({ length: many }, question).map((asked) => () => search(asked)),
      clients,
    );
  const tell = (many: number) =>
    timed(
      Array.from({ length: many }, row).map((one) => () => post(`${service.url}/api/memory`, { ...one, scope: "agent" })),
      clients,
    );
  const start = megabytes(service);
  await ask(warmUp);
  await tell(insertsEach);
  const read: number[] = [];
  for (let i = 0; i < readings; i++) {
    await ask(searchesEach);
    await tell(insertsEach);
    read.push(megabytes(service));
  }
  const half = read.slice(readings / 2);
  const growth = (((half.at(-1) ?? 0) / (half[0] ?? 1) - 1) * 100).toFixed(1);
  const each = `${searchesEach} searches and ${insertsEach} inserts`;
  return [
    `resident memory: ${start} MB before, then after every ${each} (warm-up ${warmUp} searches): ${read.join(", ")} MB`,
    `resident memory over the second half of the readings: ${growth} % (aim: flat)`,
  ];
}

const megabytes = ({ pid }: Service): number => {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kilobytes) / 1024);
};
