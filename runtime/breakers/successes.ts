/** The target of a call. */
interface Call {
  readonly key: string;
  readonly effect: "read" | "write";
}

/** Times by `performance.now()`. */
interface Success {
  /** When the successful call that began last began. */
  readonly startedAt: number;
  /** When the last successful call ended. */
  readonly endedAt: number;
}
const none: Success = { startedAt: Number.NEGATIVE_INFINITY, endedAt: Number.NEGATIVE_INFINITY };

const latestOf = (one: Success, other: Success): Success => ({
  startedAt: Math.max(one.startedAt, other.startedAt),
  endedAt: Math.max(one.endedAt, other.endedAt),
});

/** The last successful calls of this replica, by effect and key. */
export class Successes {
  readonly #last = new Map<string, Success>();

  /** A call that began at `startedAt` has succeeded. */
  record({ effect, key }: Call, startedAt: number): void {
    const name = `${effect} ${key}`;
    this.#last.set(name, latestOf({ startedAt, endedAt: performance.now() }, this.#last.get(name) ?? none));
  }

  /** The last one whose success shows that such a call can succeed: a write may fail although reads succeed. */
  last({ effect, key }: Call): Success {
    const of = (one: Call["effect"]) => this.#last.get(`${one} ${key}`) ?? none;
    return effect === "write" ? of("write") : latestOf(of("read"), of("write"));
  }
}
