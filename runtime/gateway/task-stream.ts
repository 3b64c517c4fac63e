import type { AssignedExecution, Session } from "./queries.ts";

/** One call of ReceiveTasks: the tasks to send, and those that the agent has not finished. */
export class TaskStream {
  readonly id: string;
  readonly session: Session;
  /** Ids of the executions that the agent has not finished, including those not sent yet. */
  readonly leasedIds = new Set<string>();
  readonly #maxLeased: number;
  readonly #waiting: AssignedExecution[] = [];
  #ended: Error | null = null;
  #wake = () => {};

  constructor(id: string, session: Session, maxLeased: number) {
    this.id = id;
    this.session = session;
    this.#maxLeased = Math.max(1, maxLeased);
  }

  /** How many more executions it can receive. */
  get room(): number {
    return this.#ended ? 0 : this.#maxLeased - this.leasedIds.size;
  }

  give(one: AssignedExecution): void {
    this.leasedIds.add(one.id);
    this.#waiting.push(one);
    this.#wake();
  }

  /** Ends the stream: its reader gets `error` instead of further tasks. */
  end(error: Error): void {
    this.#ended = error;
    this.#wake();
  }

  /** Its executions, one at a time, until `signal` is aborted. */
  async *executions(signal: AbortSignal): AsyncGenerator<AssignedExecution> {
    const wake = () => this.#wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      while (!signal.aborted) {
        if (this.#ended) throw this.#ended;
        const next = this.#waiting.shift();
        if (next) yield next;
        else
          await new Promise<void>((done) => {
            this.#wake = done;
          });
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }
}
