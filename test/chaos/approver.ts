import { setTimeout as sleep } from "node:timers/promises";
import type { ExecutionSeen } from "../harness/wait.ts";
import type { Random } from "./random.ts";
import type { Replica } from "./replica.ts";

const everyMs = 300;
/** If a replica has not answered for this long, a person tries another one. */
const answerMs = 2_000;
/** Number of executions in one list. */
const atOnce = 200;

/** A person who approves all waiting proposals at any replica, repeats it while they still wait, and sometimes clicks twice. */
export class Approver {
  /** Number of approvals that were answered with 200. */
  accepted = 0;
  readonly #replicas: readonly Replica[];
  readonly #random: Random;
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;
  /** Decisions that are not answered yet, by execution. */
  readonly #pressing = new Map<string, Promise<void>>();

  constructor(replicas: readonly Replica[], random: Random) {
    this.#replicas = replicas;
    this.#random = random;
    this.#done = this.#run();
  }
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      // A replica that does not respond must delay neither the list nor the other decisions.
      void this.#list();
      await sleep(everyMs, null, { signal }).catch(() => {});
    }
    await Promise.all(this.#pressing.values());
  }

  async #list(): Promise<void> {
    const path = `/api/task-executions?state=waiting&limit=${atOnce}`;
    const { client } = this.#random.pick(this.#replicas);
    const answer = await client.get<ExecutionSeen[]>(path, { timeout: answerMs }).catch(() => null);
    if (answer?.status !== 200) return;
    for (const { id } of answer.body) {
      if (this.#pressing.has(id) || this.#stopping.signal.aborted) continue;
      this.#pressing.set(
        id,
        this.#approve(id).finally(() => this.#pressing.delete(id)),
      );
    }
  }

  async #approve(id: string): Promise<void> {
    const times = this.#random.chance(0.1) ? 2 : 1;
    const presses = Array.from({ length: times }, async () => {
      const { client } = this.#random.pick(this.#replicas);
      const answer = await client.post(`/api/task-executions/${id}/approve`, {}, { timeout: answerMs }).catch(() => null);
      if (answer?.status === 200) this.accepted++;
    });
    await Promise.all(presses);
  }
}
