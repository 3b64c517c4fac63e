import { abortable } from "../../platform/abortable.ts";

/** Limits how many pieces of work run at the same time; the others wait in order of arrival. */
export class Semaphore {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `work` when there is a free place. An aborted `signal` ends the wait and leaves the place to the next. */
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
      // It got a place at the same moment.
      else this.#leave();
      throw error;
    }
  }

  /** Passes the place to the next in the queue. It stays taken meanwhile, or a newcomer could take it as well. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
