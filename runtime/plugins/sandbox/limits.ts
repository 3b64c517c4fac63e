const MiB = 1024 * 1024;

/** What a sandboxed process may do before it is ended. Beside these, its manifest's `limits`. */
export const limits = {
  /** Longest line, bytes: a call's result, a request that it sends. */
  line: 4 * MiB,
  /** Messages that nobody asked for (logs, requests, garbage): so many at once, and so many more each second. */
  messages: { burst: 20_000, perSecond: 5_000 },
  /** Values in one message: a line of brackets is short, and costs the host seconds. */
  values: 250_000,
  /** Values of all messages that nobody asked for. */
  unasked: { burst: 250_000, perSecond: 50_000 },
  /** Bytes of all messages. */
  bytes: { burst: 128 * MiB, perSecond: 64 * MiB },
  /** Bytes on standard error, counted in the same way; the last of them are kept. */
  errors: { burst: 256 * 1024, perSecond: 64 * 1024 },
  errorsKept: 8 * 1024,
  /** Levels of nesting in a message. */
  depth: 200,
  /** Requests of the plugin that the host works on at the same time. */
  requests: 64,
  /** Bytes that wait for a process that does not read. */
  waiting: 64 * MiB,
  /** What the process holds beside the heap, MiB: the runtime, code, buffers. */
  besideHeapMb: 192,
  memoryPollMs: 100,
  initializeMs: 10_000,
  pingEveryMs: 15_000,
  pingMs: 5_000,
  /** From a missed deadline to the end of a process that hangs. */
  graceMs: 100,
  /** A process hangs that is silent for so long. It is asked before the deadline, so that the grace can be short. */
  silenceMs: 1_000,
  drainMs: 10_000,
  /** Most that one request may bring back. */
  answerBytes: 8 * MiB,
  /** Bytes of the answers that are being read for one plugin at the same time. */
  answersBytes: 32 * MiB,
  /** Longest line that a plugin is sent, such as a call with a webhook's payload. */
  sent: 8 * MiB,
} as const;

/** So many at once, and so many more each second. */
export class Allowance {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #at = performance.now();

  constructor({ burst, perSecond }: { readonly burst: number; readonly perSecond: number }) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
  }

  /** `false`: more than is allowed. */
  take(count: number): boolean {
    const now = performance.now();
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    this.#left -= count;
    return this.#left >= 0;
  }
}
