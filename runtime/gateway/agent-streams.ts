import { isUniqueViolation } from "../platform/database/client.ts";
import type { AssignedExecution } from "./queries.ts";
import type { TaskStream } from "./task-stream.ts";

/** Maximum number of executions that one round takes. */
const maxPerRound = 64;

interface AgentStreamsOptions {
  /** Takes offered executions, one for each slot. A slot is the id of a stream that can receive a task. */
  readonly take: (slots: readonly string[]) => Promise<readonly AssignedExecution[]>;
  /** Announces to all replicas that the agent has streams here. */
  readonly announce: () => Promise<void>;
  /** Returns the execution of a stream that ended before it received it. */
  readonly release: (streamId: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** The streams of one agent on this replica. Takes executions for them, one round at a time. */
export class AgentStreams {
  readonly agentId: string;
  /** Ordered by when they last received an execution. */
  readonly streams = new Map<string, TaskStream>();
  readonly #options: AgentStreamsOptions;
  #announcement: Promise<void> | undefined;
  #running = false;
  #again = false;

  constructor(agentId: string, options: AgentStreamsOptions) {
    this.agentId = agentId;
    this.#options = options;
  }

  /** Resolves once the agent is announced. Streams that begin together share one announcement. */
  announced(): Promise<void> {
    this.#announcement ??= this.#options.announce();
    return this.#announcement;
  }

  /** Starts a round, or during a round, requests another one. */
  startRound(): void {
    this.#again = true;
    if (this.#running) return;
    this.#running = true;
    this.#runRounds().catch(this.#options.onError);
  }

  async #runRounds(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false;
        const slots = this.#freeSlots();
        if (slots.length > 0) await this.#round(slots);
      }
    } finally {
      // Runs in the same tick as the last check of #again, so that no request in between is lost.
      this.#running = false;
    }
  }

  async #round(slots: readonly string[]): Promise<void> {
    try {
      const takenExecutions = await this.#options.take(slots);
      for (const one of takenExecutions) await this.#give(one);
      // With slots left, the rest is offered later or locked by another replica. A message or the next sweep starts a round for it.
      if (takenExecutions.length === slots.length) this.#again = true;
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      // Another replica took an execution of the same subject first: try again.
      this.#again = true;
    }
  }

  async #give(one: AssignedExecution): Promise<void> {
    const stream = this.streams.get(one.stream_id);
    if (!stream) return this.#options.release(one.stream_id);
    this.streams.delete(stream.id);
    this.streams.set(stream.id, stream);
    stream.give(one);
  }

  /** Ids of the streams that can receive tasks, the least busy first, each once per free slot. */
  #freeSlots(): string[] {
    const slots: string[] = [];
    for (let round = 1; slots.length < maxPerRound; round++) {
      const before = slots.length;
      for (const stream of this.streams.values()) if (stream.room >= round && slots.length < maxPerRound) slots.push(stream.id);
      if (slots.length === before) break;
    }
    return slots;
  }
}
