/** The target of a call. */
interface Call {
  readonly key: string;
  readonly effect: "read" | "write";
}

/** The last successful calls of this replica, by effect and key. */
export class Successes {
  readonly #last = new Map<string, number>();

  /** A call that began at this time, by `performance.now()`, has succeeded. */
  record({ effect, key }: Call, startedAt: number): void {
    this.#last.set(`${effect} ${key}`, Math.max(startedAt, this.#startOf(effect, key)));
  }

  /**
   * When the last successful call began. For a read, successful writes count too, but not the other way round: writes may fail while
   * reads succeed. The time of the answer does not count, because a model can take minutes for one that it began before an outage.
   */
  lastStart({ effect, key }: Call): number {
    const write = this.#startOf("write", key);
    return effect === "write" ? write : Math.max(write, this.#startOf("read", key));
  }

  #startOf(effect: Call["effect"], key: string): number {
    return this.#last.get(`${effect} ${key}`) ?? Number.NEGATIVE_INFINITY;
  }
}
