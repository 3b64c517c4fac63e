const MiB = 1024 * 1024;

/** Limits of a sandboxed process; exceeding one ends it. The manifest's `limits` apply beside these. */
export const limits = {
  /** Longest line, bytes: a call's result, a request that it sends. */
  line: 4 * MiB,
  /** Messages that the host did not ask for: logs, requests, garbage. A burst, and a refill per second. */
  messages: { burst: 20_000, perSecond: 5_000 },
  /** Longest line that the main thread parses at once, characters; longer ones are measured in another thread first. */
  shortLine: 16 * 1024,
  /** How long that thread may take over one line. */
  measureMs: 2_000,
  /** Values in one message: a line of brackets is short, and takes seconds to parse. */
  values: 250_000,
  /** Keys of the objects in one message; objects with the same keys in the same order count once. */
  keys: 5_000,
  /** Values of all messages that the host did not ask for. */
  unasked: { burst: 250_000, perSecond: 50_000 },
  /** Bytes of all messages. */
  bytes: { burst: 128 * MiB, perSecond: 64 * MiB },
  /** Bytes on standard error, as a burst and a refill; the last of them are kept. */
  errors: { burst: 256 * 1024, perSecond: 64 * 1024 },
  errorsKept: 8 * 1024,
  /** Levels of nesting in a message. */
  depth: 200,
  /** Requests of the plugin that the host handles at the same time. */
  requests: 64,
  /** Bytes in the queue to a process that does not read. */
  waiting: 64 * MiB,
  /** Memory of the process beside its heap, MiB: the runtime, code, buffers. */
  besideHeapMb: 192,
  memoryPollMs: 100,
  initializeMs: 10_000,
  pingEveryMs: 15_000,
  pingMs: 5_000,
  /** Time between a missed deadline and the end of a process that hangs. */
  graceMs: 100,
  /** A process that answers no ping for so long hangs. The ping is sent before the deadline, so that the grace can be short. */
  silenceMs: 1_000,
  drainMs: 10_000,
  /** Longest response of one HTTP request. */
  answerBytes: 8 * MiB,
  /** Bytes of all responses that are being read for one plugin at the same time. */
  answersBytes: 32 * MiB,
  /** Longest line that the host sends to a plugin, such as a call with a webhook's payload. */
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
