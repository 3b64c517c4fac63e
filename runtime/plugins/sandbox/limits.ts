const MiB = 1024 * 1024;

/** Limits of a sandboxed process. A process that exceeds one is ended. The `limits` of the manifest apply in addition. */
export const limits = {
  /** Maximum length of a line in bytes: a call's result, or a request of the process. */
  line: 4 * MiB,
  /** Messages that the host did not request: logs, requests, invalid lines. A burst, and a refill per second. */
  messages: { burst: 20_000, perSecond: 5_000 },
  /**
   * Maximum length of a line that the main thread parses immediately, in characters; longer ones are first measured in another
   * thread.
   */
  shortLine: 16 * 1024,
  /** Maximum time for which that thread may measure one line. */
  measureMs: 2_000,
  /**
   * Maximum number of values in one message, and maximum weight: a line of brackets is short, but takes seconds to parse.
   */
  values: 250_000,
  /** Maximum number of keys of the objects in one message; objects with the same keys in the same order count once. */
  keys: 5_000,
  /** Number of values in all messages that the host did not request. */
  unasked: { burst: 250_000, perSecond: 50_000 },
  /** Bytes of all messages. */
  bytes: { burst: 128 * MiB, perSecond: 64 * MiB },
  /** Bytes on standard error, as a burst and a refill. The last of them are kept. */
  errors: { burst: 256 * 1024, perSecond: 64 * 1024 },
  errorsKept: 8 * 1024,
  /** Maximum nesting depth of a message. */
  depth: 200,
  /** Maximum number of the plugin's requests that the host handles at the same time. */
  requests: 64,
  /** Maximum number of bytes in the queue to a process that does not read. */
  waiting: 64 * MiB,
  /** Memory of the process in addition to its heap, in MiB: the runtime, code, buffers. */
  besideHeapMb: 192,
  memoryPollMs: 100,
  initializeMs: 10_000,
  pingEveryMs: 15_000,
  pingMs: 5_000,
  /** Time between a missed deadline and the end of a hanging process. */
  graceMs: 100,
  /**
   * A process that does not respond to a ping for this long is considered hanging. The ping is sent before the deadline, so that
   * the time after it can be short.
   */
  silenceMs: 1_000,
  drainMs: 10_000,
  /** Maximum length of an HTTP response. */
  answerBytes: 8 * MiB,
  /** Maximum number of bytes of all responses in progress for one plugin. */
  answersBytes: 32 * MiB,
  /** Maximum length of a line that the host sends to a plugin, such as a call with a webhook's payload. */
  sent: 8 * MiB,
} as const;

/** Limits a rate: a burst, and a refill per second. */
export class TokenBucket {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #at = performance.now();

  constructor({ burst, perSecond }: { readonly burst: number; readonly perSecond: number }) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
  }

  /** Takes `count` tokens; `false` if there are too few. */
  take(count: number): boolean {
    const now = performance.now();
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    this.#left -= count;
    return this.#left >= 0;
  }
}
