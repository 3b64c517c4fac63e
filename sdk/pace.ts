import { inMemoryThrottle, type SharedThrottle } from "./pace-access.ts";

/**
 * Without an interval the shared pace has nothing to give but word of another replica's refusal, which is asked for this
 * often, and not before every request.
 */
const hearsayMs = 1000;

/** Waits `ms` milliseconds; `false` when the signal came first. */
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

export interface ThrottleOptions {
  /** Least milliseconds between two starts. */
  readonly interval: number;
  /** Requests at a time, of this process; 8 where absent. */
  readonly slots?: number;
  /** The capability, so that all who work in the name of an account keep one pace; this process alone where absent. */
  readonly shared?: SharedThrottle;
  /** Names the account, without showing its credential. */
  readonly key?: string;
}

/**
 * The pace of one account: at most `slots` requests at a time, their starts at least `interval` milliseconds apart, and
 * none before the moment that a refusal named. First come, first served: a request that was refused keeps its slot, so
 * it goes out before those that wait, and is not refused again.
 */
export class Throttle {
  readonly #interval: number;
  readonly #key: string;
  readonly #access: SharedThrottle;
  /** Serves while the shared one cannot be reached. */
  readonly #own = inMemoryThrottle();
  #free: number;
  #next = 0;
  /** Until then the shared pace need not be asked whether somebody else was refused. */
  #heard = 0;
  #last: Promise<unknown> = Promise.resolve();
  readonly #waiting: (() => void)[] = [];

  constructor({ interval, slots = 8, shared: access, key = "" }: ThrottleOptions) {
    this.#interval = interval;
    this.#free = slots;
    this.#key = key;
    this.#access = access ?? this.#own;
  }

  /** Milliseconds until the next request may start, as things stand. */
  get waitMs(): number {
    return Math.max(0, this.#next - Date.now()) + this.#waiting.length * this.#interval;
  }

  /** Nothing starts for `ms` milliseconds. */
  async block(ms: number): Promise<void> {
    this.#next = Math.max(this.#next, Date.now() + ms);
    await this.#own.block(this.#key, ms);
    if (this.#access !== this.#own) await this.#access.block(this.#key, ms).catch(() => {});
  }

  /** Waits for a slot; `false` when the signal came first. Whoever got `true` must call `leave`. */
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

  /** Waits until a request may start, and takes that start. The next one is `interval` milliseconds later. */
  async waitForStart(signal: AbortSignal, interval: number = this.#interval): Promise<boolean> {
    // One of this process asks at a time, in the order in which they came.
    const before = this.#last;
    let done = () => {};
    this.#last = new Promise<void>((resolve) => (done = resolve));
    try {
      if (!(await settled(before, signal))) return false;
      for (;;) {
        const wait = signal.aborted ? 0 : await this.#take(interval);
        if (wait <= 0) return !signal.aborted;
        this.#next = Date.now() + wait;
        if (!(await sleep(wait, signal))) return false;
      }
    } finally {
      // Who gave up while others were before it must not let its successor pass them.
      void before.then(done);
    }
  }

  async #take(interval: number): Promise<number> {
    if (this.#access === this.#own || (interval === 0 && Date.now() < this.#heard)) return this.#own.reserve(this.#key, interval);
    try {
      const wait = await this.#access.reserve(this.#key, interval);
      this.#heard = Date.now() + hearsayMs;
      // Kept in step, for the time when the shared one is away.
      if (wait <= 0) await this.#own.reserve(this.#key, interval);
      return wait;
    } catch {
      return this.#own.reserve(this.#key, interval);
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

/** Waits for `work`, which never fails; `false` when the signal came first. */
function settled(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
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
