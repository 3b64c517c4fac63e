import { inMemoryThrottle, type SharedThrottle } from "./shared-throttle.ts";

/**
 * Without an interval, the shared throttle only reports that another replica was rate limited. It is then asked at this
 * interval and not before every request. Milliseconds.
 */
const recheckMs = 1000;

/** Waits `ms` milliseconds. Resolves with `false` as soon as the signal is aborted, otherwise with `true`. */
export function sleep(ms: number, signal: AbortSignal): Promise<boolean> {
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

/** Options of a `Throttle`. */
export interface ThrottleOptions {
  /** Minimum milliseconds between two starts. */
  readonly interval: number;
  /** Maximum number of concurrent requests of this process. Default: 8. */
  readonly slots?: number;
  /** The capability `throttle`, to throttle an account across all replicas. Default: this process only. */
  readonly shared?: SharedThrottle;
  /** Identifies the account without showing its credential. */
  readonly key?: string;
}

/**
 * Throttles the requests of one account: at most `slots` concurrent requests, started at least `interval` milliseconds apart,
 * and none before the time that a rate limit error named. Requests are served in order of arrival; a request that was rate
 * limited keeps its slot and is sent before those that wait.
 */
export class Throttle {
  readonly #interval: number;
  readonly #key: string;
  readonly #shared: SharedThrottle;
  /** Used while the shared throttle is unavailable. */
  readonly #local = inMemoryThrottle();
  #free: number;
  #next = 0;
  /** Time until which the shared throttle is not asked for rate limits of other replicas. */
  #recheckAt = 0;
  #last: Promise<unknown> = Promise.resolve();
  readonly #waiting: (() => void)[] = [];

  constructor({ interval, slots = 8, shared, key = "" }: ThrottleOptions) {
    this.#interval = interval;
    this.#free = slots;
    this.#key = key;
    this.#shared = shared ?? this.#local;
  }

  /** Estimated milliseconds until the next request may start. */
  get waitMs(): number {
    return Math.max(0, this.#next - Date.now()) + this.#waiting.length * this.#interval;
  }

  /** Blocks all starts for `ms` milliseconds. */
  async block(ms: number): Promise<void> {
    this.#next = Math.max(this.#next, Date.now() + ms);
    await this.#local.block(this.#key, ms);
    if (this.#shared !== this.#local) await this.#shared.block(this.#key, ms).catch(() => {});
  }

  /** Waits for a slot. Resolves with `false` if the signal is aborted first; after `true` the caller must call `release`. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    if (this.#free > 0) this.#free -= 1;
    else if (!(await this.#queue(signal))) return false;
    return true;
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }

  /**
   * Waits until a request may start. Resolves with `false` if the signal is aborted first. The next start is `interval`
   * milliseconds later.
   */
  async waitForStart(signal: AbortSignal, interval: number = this.#interval): Promise<boolean> {
    // Requests of this process reserve their start one at a time, in order of arrival.
    const before = this.#last;
    let done = () => {};
    this.#last = new Promise<void>((resolve) => (done = resolve));
    try {
      if (!(await completesBefore(before, signal))) return false;
      for (;;) {
        const wait = signal.aborted ? 0 : await this.#take(interval);
        if (wait <= 0) return !signal.aborted;
        this.#next = Date.now() + wait;
        if (!(await sleep(wait, signal))) return false;
      }
    } finally {
      // An aborted request must not let its successor overtake the requests before it.
      void before.then(done);
    }
  }

  async #take(interval: number): Promise<number> {
    if (this.#shared === this.#local || (interval === 0 && Date.now() < this.#recheckAt))
      return this.#local.reserve(this.#key, interval);
    try {
      const wait = await this.#shared.reserve(this.#key, interval);
      this.#recheckAt = Date.now() + recheckMs;
      // Keep the local throttle in step, in case the shared one becomes unavailable.
      if (wait <= 0) await this.#local.reserve(this.#key, interval);
      return wait;
    } catch {
      return this.#local.reserve(this.#key, interval);
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

/** Waits for `work`, which never rejects. Resolves with `false` if the signal is aborted first. */
function completesBefore(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((done) => {
    const aborted = () => done(false);
    signal.addEventListener("abort", aborted, { once: true });
    void work.then(() => {
      signal.removeEventListener("abort", aborted);
      done(true);
    });
  });
}
