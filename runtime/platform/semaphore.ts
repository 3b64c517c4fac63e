import { abortable } from "./abortable.ts";

interface Turn {
  /** If it is aborted, the work stops waiting and leaves the slot to the next. */
  readonly signal?: AbortSignal | undefined;
  /** Work of different names takes turns, so that much of one delays only its own. */
  readonly name?: string;
}

/** Limits the number of concurrent pieces of work; further ones of the same name wait in order of arrival. */
export class Semaphore {
  readonly #most: number;
  /** By name, the one whose turn is next first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `work` when there is a free slot. */
  async run<T>(work: () => Promise<T>, { signal, name = "" }: Turn = {}): Promise<T> {
    await this.#enter(signal, name);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal | undefined, name: string): Promise<void> {
    if (this.#running < this.#most) {
      this.#running += 1;
      return;
    }
    const { promise: turn, resolve: enter } = Promise.withResolvers<void>();
    const queue = this.#waiting.get(name) ?? [];
    queue.push(enter);
    this.#waiting.set(name, queue);
    try {
      await (signal ? abortable(turn, signal) : turn);
    } catch (error) {
      const at = queue.indexOf(enter);
      // It may have got a slot at the same moment.
      if (at < 0) this.#leave();
      else queue.splice(at, 1);
      if (queue.length === 0 && this.#waiting.get(name) === queue) this.#waiting.delete(name);
      throw error;
    }
  }

  /** Passes the slot to the next in the queue. The slot remains taken meanwhile; otherwise a newcomer could take it, too. */
  #leave(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#running -= 1;
      return;
    }
    const [name, queue] = first;
    const next = queue.shift();
    // The other names come before the rest of this one.
    this.#waiting.delete(name);
    if (queue.length > 0) this.#waiting.set(name, queue);
    next?.();
  }
}
