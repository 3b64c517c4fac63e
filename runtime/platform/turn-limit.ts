interface Waiting {
  readonly begin: () => void;
  readonly isUnwanted: () => boolean;
}

/**
 * Limits how much work begins in one turn of the event loop. Further work begins in the next turns, in order of arrival, so that the
 * rest of the process gets its turn meanwhile.
 */
export class TurnLimit {
  readonly #perTurn: number;
  #waiting: Waiting[] = [];
  #begun = 0;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Work that has to wait and is unwanted when its turn comes never begins, and does not count. */
  begin(begin: () => void, isUnwanted: () => boolean = () => false): void {
    if (this.#begun === this.#perTurn || this.#waiting.length > 0) this.#waiting.push({ begin, isUnwanted });
    else this.#begin(begin);
  }

  #begin(begin: () => void): void {
    if (this.#begun++ === 0) setImmediate(this.#nextTurn);
    begin();
  }

  readonly #nextTurn = (): void => {
    this.#begun = 0;
    let next = 0;
    for (; next < this.#waiting.length && this.#begun < this.#perTurn; next++) {
      const { begin, isUnwanted } = this.#waiting[next] as Waiting;
      if (!isUnwanted()) this.#begin(begin);
    }
    this.#waiting = this.#waiting.slice(next);
  };
}
