import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { UnfinishedExecutions } from "../harness/unfinished-executions.ts";
import type { Replica } from "./replica.ts";
import type { Row } from "./report.ts";
import type { World } from "./world.ts";

const everyMs = 500;
/** Places with fewer executions on average are not in the report. */
const least = 1;

/**
 * Where the unfinished executions are, on average, while it is not stopped. With a constant number of unfinished executions,
 * these are also the shares of the time that an execution takes. `account.jsonl` beside the logs has each sample. It reads the
 * database, which is not a part of what the test verifies.
 */
export class Account {
  readonly #world: World;
  readonly #unfinished: UnfinishedExecutions;
  readonly #sums = new Map<string, number>();
  #samples = 0;
  /** Samples by the number of replicas on which no fault acted. */
  readonly #free: number[];
  /** The replica of each worker seen so far, and the newest worker of each replica. */
  readonly #owners = new Map<string, Replica>();
  readonly #newest = new Map<Replica, string>();
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;

  constructor(world: World, databaseUrl: string) {
    this.#world = world;
    this.#unfinished = new UnfinishedExecutions(databaseUrl);
    this.#free = Array.from({ length: world.replicas.length + 1 }, () => 0);
    this.#done = this.#run();
  }

  /** Mean number of executions by place, the largest first, and the shares of the time by the number of replicas without a fault. */
  async stop(): Promise<Row[]> {
    this.#stopping.abort();
    await this.#done;
    await this.#unfinished.close();
    const samples = Math.max(1, this.#samples);
    const places = [...this.#sums].sort(([, a], [, b]) => b - a);
    const free = this.#free.map((count, replicas) => `${replicas} in ${Math.round((100 * count) / samples)} %`);
    return [
      ["replicas without a fault", free.join(", ")],
      ...places.flatMap(([place, sum]): Row[] => {
        const mean = sum / samples;
        return mean < least ? [] : [[`unfinished: ${place}`, mean.toFixed(1)]];
      }),
    ];
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#sample().catch(() => {});
      await sleep(everyMs, null, { signal }).catch(() => {});
    }
  }

  async #sample(): Promise<void> {
    const { options, sender, replicas, ledger, logs } = this.#world;
    const [groups, workers] = [await this.#unfinished.groups(), await this.#unfinished.workers()];
    for (const { worker, port } of workers) {
      const replica = replicas.find(({ postgres }) => postgres?.serverPorts.includes(port));
      if (!replica || this.#owners.has(worker)) continue;
      this.#owners.set(worker, replica);
      this.#newest.set(replica, worker);
    }
    const places: Record<string, number> = {};
    const add = (place: string, count: number) => {
      if (count > 0) places[place] = (places[place] ?? 0) + count;
    };
    for (const { place, worker, count } of groups) add(`${place}${this.#trouble(worker)}`, count);
    add("not accepted yet", sender.sent.filter(({ receipt }) => !receipt).length * options.tasks.length);
    this.#samples++;
    for (const [place, count] of Object.entries(places)) this.#sums.set(place, (this.#sums.get(place) ?? 0) + count);
    const free = replicas.filter(({ fault }) => fault === null).length;
    this.#free[free] = (this.#free[free] ?? 0) + 1;
    const faults = replicas.map(({ fault }) => fault);
    const line = { at: new Date().toISOString(), answers: ledger.finals, faults, places };
    appendFileSync(join(logs, "account.jsonl"), `${JSON.stringify(line)}\n`);
  }

  /** What acts on the replica of this worker. */
  #trouble(worker: string | null): string {
    const replica = worker ? this.#owners.get(worker) : undefined;
    if (!replica) return "";
    if (this.#newest.get(replica) !== worker || !replica.up) return " (its worker has ended)";
    return replica.fault === null ? "" : ` (${replica.fault})`;
  }
}
