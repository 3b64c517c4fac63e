/**
 * While more executions wait than there are slots, a claim waits this long for a quarter of the slots (at most 32) to become free,
 * in milliseconds: a claim of many costs little more than a claim of one.
 */
const gatherMs = 5;
const maxGathered = 32;
/** From this number of running executions on, a worker is busy. */
const busyExecutions = 32;
/** Pause between two claims of a busy worker: this many times what the last one took, and at most so many milliseconds. */
const claimPause = { times: 3, maxMs: 20 };

export const isBusy = (running: number): boolean => running >= busyExecutions;

/** When a worker claims again. */
export class ClaimPace {
  readonly #concurrency: number;
  /** The last claim filled all slots, so further executions probably wait. */
  #isFull = false;
  /** When the last claim was sent, by `performance.now()`. */
  #claimedAt = Number.NEGATIVE_INFINITY;
  /** When a busy worker may claim again. */
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Call it when a claim is sent. Returns the time. */
  startClaim(): number {
    this.#claimedAt = performance.now();
    return this.#claimedAt;
  }

  /** Call it after a claim. */
  recordClaim(isFull: boolean): void {
    this.#isFull = isFull;
    const now = performance.now();
    this.#pausedUntil = now + Math.min(claimPause.maxMs, claimPause.times * (now - this.#claimedAt));
  }

  /** How long the next claim waits for more free slots, if it would take few, or for the time of a busy worker, in milliseconds. */
  waitMs(running: number): number {
    const free = this.#concurrency - running;
    const isShort = this.#isFull && free > 0 && free < Math.min(maxGathered, Math.floor(this.#concurrency / 4));
    const pauseMs = isBusy(running) ? this.#pausedUntil - performance.now() : 0;
    return Math.max(isShort ? gatherMs : 0, pauseMs);
  }
}
