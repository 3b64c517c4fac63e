/** This worker has lost the execution: its lease expired, another worker took it, or it was cancelled. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** How long an attempt may exceed its own timeouts before it counts as stalled, in milliseconds. */
const stallMarginMs = 30_000;

/** Safety margin of a lease: clocks differ, and an abort takes a moment. */
const marginOf = (leaseMs: number): number => Math.min(2_000, leaseMs / 10);

/**
 * The lease of one attempt, by the monotonic clock of this process. It expires on its own, also while the database cannot be
 * reached, and a process that was frozen sees at once that it has ended.
 */
export class Lease {
  readonly #abort = new AbortController();
  readonly #leaseMs: number;
  #until: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Deadline for the attempt's next progress. */
  #stalledAt = Number.POSITIVE_INFINITY;

  /**
   * `sentAt`: when the claim was sent, by `performance.now()`. The lease in the database begins later, so it never ends earlier
   * than this one.
   */
  constructor(leaseSeconds: number, sentAt: number) {
    this.#leaseMs = leaseSeconds * 1000;
    this.#until = this.#endOf(sentAt);
    this.#arm();
  }

  /** Aborted when the lease is lost, for any reason. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** A renewal that was sent at `sentAt` has succeeded. A lease that has ended remains ended. */
  extend(sentAt: number): void {
    if (this.isOver()) return;
    this.#until = Math.max(this.#until, this.#endOf(sentAt));
  }

  /** Throws unless this worker still has the lease, by its own clock. */
  check(): void {
    if (this.isOver()) this.lose("the lease ended before it could be renewed");
    this.signal.throwIfAborted();
  }

  isOver(): boolean {
    return this.signal.aborted || performance.now() >= this.#until;
  }

  lose(reason: string): void {
    clearTimeout(this.#timer);
    this.#abort.abort(new LeaseLost(reason));
  }

  /** The attempt has ended. */
  end(): void {
    clearTimeout(this.#timer);
  }

  /** Records progress of the attempt; its current work takes at most `ms` by its own timeouts. */
  progress(ms: number): void {
    this.#stalledAt = performance.now() + ms + stallMarginMs;
  }

  /** Whether the current work has exceeded all of its timeouts, so that it waits for a response that was lost. */
  isStalled(): boolean {
    return performance.now() > this.#stalledAt;
  }

  #endOf(sentAt: number): number {
    return sentAt + this.#leaseMs - marginOf(this.#leaseMs);
  }

  #arm(): void {
    const wait = this.#until - performance.now();
    this.#timer = setTimeout(
      () => {
        if (this.isOver()) this.lose("the lease ended before it could be renewed");
        else this.#arm();
      },
      Math.max(0, wait),
    );
    this.#timer.unref();
  }
}
