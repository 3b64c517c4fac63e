/** Waits `ms` milliseconds; `false` when the signal came first. */
export function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((done) => {
    const end = (whole: boolean) => () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      done(whole);
    };
    const aborted = end(false);
    const timer = setTimeout(end(true), ms);
    signal.addEventListener("abort", aborted, { once: true });
  });
}

/**
 * The pace of one account: at most `slots` requests at a time, their starts at least `interval` milliseconds apart, and
 * none before the moment that a refusal named. First come, first served: a request that was refused keeps its slot, so
 * it goes out before those that wait, and is not refused again.
 */
export class Pace {
  readonly #interval: number;
  #free: number;
  #next = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(interval: number, slots = 8) {
    this.#interval = interval;
    this.#free = slots;
  }

  /** Milliseconds until the next request may start, as things stand. */
  get wait(): number {
    return Math.max(0, this.#next - Date.now()) + this.#waiting.length * this.#interval;
  }

  /** Nothing starts for `ms` milliseconds. */
  hold(ms: number): void {
    this.#next = Math.max(this.#next, Date.now() + ms);
  }

  /** Waits for a slot; `false` when the signal came first. Whoever got `true` must call `leave`. */
  async enter(signal: AbortSignal): Promise<boolean> {
    if (this.#free > 0) this.#free -= 1;
    else if (!(await this.#queue(signal))) return false;
    return true;
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }

  /** Waits until a request may start, and takes that start. */
  async start(signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const wait = this.#next - Date.now();
      if (wait <= 0) {
        this.#next = Date.now() + this.#interval;
        return !signal.aborted;
      }
      if (!(await pause(wait, signal))) return false;
    }
  }

  #queue(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((done) => {
      const turn = () => {
        signal.removeEventListener("abort", aborted);
        done(true);
      };
      const aborted = () => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        done(false);
      };
      this.#waiting.push(turn);
      signal.addEventListener("abort", aborted, { once: true });
    });
  }
}
