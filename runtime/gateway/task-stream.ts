import type { HandedOver, Session } from "./queries.ts";

/** One call of ReceiveTasks: what waits to be sent, and what its agent has not finished. */
export class TaskStream {
  readonly id: string;
  readonly session: Session;
  /** Ids of the executions that the agent has not finished, those that wait to be sent included. */
  readonly held = new Set<string>();
  readonly #most: number;
  readonly #waiting: HandedOver[] = [];
  #ended: Error | null = null;
  #rouse = () => {};

  constructor(id: string, session: Session, most: number) {
    this.id = id;
    this.session = session;
    this.#most = Math.max(1, most);
  }

  /** How many more it may be given. */
  get room(): number {
    return this.#ended ? 0 : this.#most - this.held.size;
  }

  give(one: HandedOver): void {
    this.held.add(one.id);
    this.#waiting.push(one);
    this.#rouse();
  }

  /** The reader is told `error` in place of what waits. */
  end(error: Error): void {
    this.#ended = error;
    this.#rouse();
  }

  /** What it is given, one by one as they are read, until `signal` is aborted. */
  async *until(signal: AbortSignal): AsyncGenerator<HandedOver> {
    const rouse = () => this.#rouse();
    signal.addEventListener("abort", rouse, { once: true });
    try {
      while (!signal.aborted) {
        if (this.#ended) throw this.#ended;
        const next = this.#waiting.shift();
        if (next) yield next;
        else
          await new Promise<void>((done) => {
            this.#rouse = done;
          });
      }
    } finally {
      signal.removeEventListener("abort", rouse);
    }
  }
}
