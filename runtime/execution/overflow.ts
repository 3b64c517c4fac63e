/**
 * Wakes the other replicas for executions that this one has stored and cannot claim: its slots are full, or a claim that was expected
 * to take them fills the slots before, or they become due while the slots are full.
 */
export class Overflow {
  readonly #wakeOthers: () => void;
  /** How often executions were stored that a claim was expected to take, and how many of these a claim has considered. */
  #stored = 0;
  #considered = 0;
  /** How often executions were stored that become due later, and for how many of these a look has found out when. */
  #delayed = 0;
  #seen = 0;
  /** When the next execution is due, by the last look; `performance.now()`. */
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(wakeOthers: () => void) {
    this.#wakeOthers = wakeOthers;
  }

  /** Executions were stored. `isDelayed`: they become due later. */
  add(hasFreeSlots: boolean, isDelayed: boolean): void {
    if (!hasFreeSlots) this.#wakeOthers();
    else {
      this.#stored++;
      if (isDelayed) this.#delayed++;
    }
  }

  /** Looks for the milliseconds until the next execution is due. */
  async look(nextDue: () => Promise<number | null>): Promise<number | null> {
    const before = this.#delayed;
    const dueMs = await nextDue();
    this.#seen = before;
    this.#dueAt = dueMs === null ? Number.POSITIVE_INFINITY : performance.now() + dueMs;
    return dueMs;
  }

  /**
   * Call it when no slot is free. Wakes the others once an execution is due, or if it is unknown when. Returns the milliseconds until
   * then.
   */
  whileFull(): number {
    const waitMs = this.#seen < this.#delayed ? 0 : this.#dueAt - performance.now();
    if (waitMs <= 0) this.#handOver();
    return Math.max(0, this.#dueAt - performance.now());
  }

  /** The others claim what is due, and look for themselves what is due next. */
  #handOver(): void {
    this.#considered = this.#stored;
    this.#seen = this.#delayed;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#wakeOthers();
  }

  /**
   * Call it when a claim is sent, and the result once the claim has succeeded. `isDrained`: it got fewer executions than it asked for,
   * so it took all that were stored before.
   */
  startClaim(): (isDrained: boolean, hasFreeSlots: boolean) => void {
    const before = this.#stored;
    return (isDrained, hasFreeSlots) => {
      if (isDrained) this.#considered = before;
      if (!hasFreeSlots && this.#stored !== this.#considered) this.#handOver();
    };
  }
}
