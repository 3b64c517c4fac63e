/**
 * Wakes the other replicas for executions that this one has stored and cannot claim: its slots are full, or a claim that was expected
 * to take them fills the slots before.
 */
export class Overflow {
  readonly #wakeOthers: () => void;
  /** How often executions were stored that a claim was expected to take, and how many of these a claim has considered. */
  #stored = 0;
  #considered = 0;

  constructor(wakeOthers: () => void) {
    this.#wakeOthers = wakeOthers;
  }

  /** Executions were stored. */
  add(hasFreeSlots: boolean): void {
    if (hasFreeSlots) this.#stored++;
    else this.#wakeOthers();
  }

  /**
   * Call it when a claim is sent, and the result once the claim has succeeded. `isDrained`: it got fewer executions than it asked for,
   * so it took all that were stored before.
   */
  startClaim(): (isDrained: boolean, hasFreeSlots: boolean) => void {
    const before = this.#stored;
    return (isDrained, hasFreeSlots) => {
      if (isDrained) this.#considered = before;
      if (hasFreeSlots || this.#stored === this.#considered) return;
      this.#considered = this.#stored;
      this.#wakeOthers();
    };
  }
}
