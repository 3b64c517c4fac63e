import { setTimeout as sleep } from "node:timers/promises";
import type { ExecutionSeen } from "../harness/wait.ts";
import type { Random } from "./random.ts";
import type { Replica } from "./replica.ts";

const everyMs = 300;
const answerMs = 5_000;
/** How many are decided on at a time. */
const atOnce = 50;

/** A person who approves all that waits, at any replica, and again while it still waits. Now and then they press twice. */
export class Approver {
  /** Approvals that were answered 200. */
  accepted = 0;
  readonly #replicas: readonly Replica[];
  readonly #random: Random;
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;

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
      const waiting = await this.#waiting();
      await Promise.all(waiting.map((id) => this.#approve(id)));
      await sleep(everyMs, null, { signal }).catch(() => {});
    }
  }

  async #waiting(): Promise<string[]> {
    const path = `/api/task-executions?state=waiting&limit=${atOnce}`;
    const { client } = this.#random.pick(this.#replicas);
    const answer = await client.get<ExecutionSeen[]>(path, { timeout: answerMs }).catch(() => null);
    return answer?.status === 200 ? answer.body.map(({ id }) => id) : [];
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
