import { abortable } from "../../platform/abortable.ts";

/** Lets so many pieces of work run at a time; the others wait, first come first served. */
export class Turns {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `work` when it is its turn. Who gives up by `signal` while it waits leaves its place to the next. */
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
      // Its turn came at the same moment.
      else this.#leave();
      throw error;
    }
  }

  /** Hands its place on. It stays taken meanwhile, or a newcomer would slip in beside the next. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
