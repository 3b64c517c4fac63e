/**
 * Wakes the other replicas for executions that this one has stored and cannot claim: its slots are full, or a claim that was expected
 * to take them fills the slots before, or they become due while the slots are full.
 */
export class Overflow {
  readonly #wakeOthers: () => void;
  /** Executions that the next claims are expected to take. */
  readonly #unclaimed = new Unseen();
  /** Executions that become due later; no look has found out when. */
  readonly #undated = new Unseen();
  /** When the next execution is due, by the last look; `performance.now()`. */
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(wakeOthers: () => void) {
    this.#wakeOthers = wakeOthers;
  }

  /** Executions were stored. `isDelayed`: they become due later. */
  add({ hasFreeSlots, isDelayed }: { readonly hasFreeSlots: boolean; readonly isDelayed: boolean }): void {
    if (!hasFreeSlots) this.#wakeOthers();
    else {
      this.#unclaimed.add();
      if (isDelayed) this.#undated.add();
    }
  }

  /** Looks for the milliseconds until the next execution is due. */
  async look(nextDue: () => Promise<number | null>): Promise<number | null> {
    const end = this.#undated.startLook();
    const dueMs = await nextDue();
    end();
    this.#dueAt = dueMs === null ? Number.POSITIVE_INFINITY : performance.now() + dueMs;
    return dueMs;
  }

  /**
   * Call it when no slot is free. Wakes the others once an execution is due, or if it is unknown when. Returns the milliseconds until
   * then.
   */
  whileFull(): number {
    if (this.#undated.any || this.#dueAt <= performance.now()) this.#handOver();
    return Math.max(0, this.#dueAt - performance.now());
  }

  /** The others claim what is due, and look for themselves what is due next. */
  #handOver(): void {
    this.#unclaimed.clear();
    this.#undated.clear();
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#wakeOthers();
  }

  /**
   * Call it when a claim is sent, and the result once the claim has succeeded. `isDrained`: it got fewer executions than it asked for,
   * so it took all that were stored before.
   */
  startClaim(): (result: { readonly isDrained: boolean; readonly hasFreeSlots: boolean }) => void {
    const end = this.#unclaimed.startLook();
    return ({ isDrained, hasFreeSlots }) => {
      if (isDrained) end();
      if (!hasFreeSlots && this.#unclaimed.any) this.#handOver();
    };
  }
}

/** Whether something was added that no look has seen. A look sees what was added before it began. */
class Unseen {
  #added = 0;
  #seen = 0;

  get any(): boolean {
    return this.#seen < this.#added;
  }
  add(): void {
    this.#added++;
  }
  clear(): void {
    this.#seen = this.#added;
  }
  /** Call the result if the look succeeds. */
  startLook(): () => void {
    const before = this.#added;
    return () => {
      this.#seen = before;
    };
  }
}
