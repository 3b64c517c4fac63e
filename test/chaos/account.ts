import { setTimeout as sleep } from "node:timers/promises";
import { UnfinishedExecutions } from "../harness/unfinished-executions.ts";
import type { World } from "./world.ts";

const everyMs = 500;

/**
 * The average places of the unfinished executions while the run is not stopped. With a constant number of unfinished executions,
 * these are also the shares of an execution's duration. Reads the database, which is not part of the verification.
 */
export class Account {
  readonly #world: World;
  readonly #unfinished: UnfinishedExecutions;
  readonly #sums = new Map<string, number>();
  #samples = 0;
  /** Samples by the number of replicas on which no fault acted. */
  readonly #free: number[];
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;

  constructor(world: World, databaseUrl: string) {
    this.#world = world;
    this.#unfinished = new UnfinishedExecutions(databaseUrl, world.options.lease);
    this.#free = Array.from({ length: world.replicas.length + 1 }, () => 0);
    this.#done = this.#run();
  }

  /**
   * Mean number of executions by place, largest first, and the shares of the duration by the number of replicas without a fault.
   */
  async stop(): Promise<{ readonly places: string; readonly free: string }> {
    this.#stopping.abort();
    await this.#done;
    await this.#unfinished.close();
    const samples = Math.max(1, this.#samples);
    const places = [...this.#sums].sort(([, a], [, b]) => b - a).map(([place, sum]) => `${place} ${(sum / samples).toFixed(1)}`);
    const free = this.#free.map((count, replicas) => `${replicas} in ${Math.round((100 * count) / samples)} %`);
    return { places: places.join(", "), free: free.join(", ") };
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#sample().catch(() => {});
      await sleep(everyMs, null, { signal }).catch(() => {});
    }
  }

  async #sample(): Promise<void> {
    const { options, sender, replicas } = this.#world;
    const rows = await this.#unfinished.count();
    this.#samples++;
    for (const { place, count } of rows) this.#add(place, count);
    this.#add("not accepted yet", sender.sent.filter(({ receipt }) => !receipt).length * options.tasks.length);
    const free = replicas.filter(({ busy }) => !busy).length;
    this.#free[free] = (this.#free[free] ?? 0) + 1;
  }

  #add(place: string, count: number): void {
    this.#sums.set(place, (this.#sums.get(place) ?? 0) + count);
  }
}
