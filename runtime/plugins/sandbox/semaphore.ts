import { abortable } from "../../platform/abortable.ts";

/** Limits the number of concurrent pieces of work; further ones wait in order of arrival. */
export class Semaphore {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `work` when there is a free slot. If `signal` is aborted, it stops waiting and leaves the slot to the next. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    if (this.#running < this.#most) {
      this.#running += 1;
      return;
    }
    let enter = () => {};
    const turn = new Promise<void>((done) => {
      enter = done;
    });
    this.#waiting.push(enter);
    try {
      await (signal ? abortable(turn, signal) : turn);
    } catch (error) {
      const at = this.#waiting.indexOf(enter);
      if (at >= 0) this.#waiting.splice(at, 1);
      // It got a slot at the same moment.
      else this.#leave();
      throw error;
    }
  }

  /** Passes the slot to the next in the queue. The slot remains taken meanwhile; otherwise a newcomer could take it, too. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
