import { deadlineOf } from "../platform/abortable.ts";
import { WholeResponse } from "../platform/network/whole-response.ts";
import { LinksOfWrite, type WriteFence } from "../platform/write-fence.ts";
import type { Lease } from "./lease.ts";

/** How long a request may be in flight, in milliseconds: as long as a lease, within limits. */
export const windowMsOf = (leaseSeconds: number): number => Math.min(30_000, Math.max(10_000, leaseSeconds * 1000));
/** How long to wait after a stop for the response to a write that is in flight, in milliseconds. */
const answerGraceMs = 2_000;

interface WindowOptions {
  readonly lease: Lease;
  /** Aborted when the service stops: a request that was sent may finish, and no further one is sent. */
  readonly stopSignal: AbortSignal;
  readonly windowMs: number;
  /** Stores that a request of this step may be in flight for `windowMs` from now. Throws `LeaseLost` if the lease is lost. */
  readonly store: (windowMs: number) => Promise<void>;
}

/**
 * The fence of one write. Before a request is sent, the database stores until when it may be in flight. A worker that takes
 * the execution over waits until then before it looks for the write. The request is aborted at that time, or when the lease
 * ends, also while the body of its response arrives: an MCP server sends the headers before it does the work.
 */
export class WriteWindow implements WriteFence {
  readonly #options: WindowOptions;
  readonly #abort = new AbortController();
  #until = Number.NEGATIVE_INFINITY;
  #underWay = 0;
  #sent = 0;
  /** Requests that ended without a response: the server may still be processing them. */
  #lost = 0;
  /** The same, plus requests that a gateway answered with an error, which says nothing about the server behind it. */
  #unknown = 0;
  #answeredAt = Number.NEGATIVE_INFINITY;
  readonly #links = new LinksOfWrite();

  constructor(options: WindowOptions) {
    this.#options = options;
    const { lease, stopSignal } = options;
    if (lease.signal.aborted) this.#abort.abort(lease.signal.reason);
    lease.signal.addEventListener("abort", this.#leaseEnded, { once: true });
    if (stopSignal.aborted) this.#stop();
    else stopSignal.addEventListener("abort", this.#stop, { once: true });
  }

  /**
   * Ends the write, so that nothing aborts it any more, and neither signal keeps a reference to it.
   */
  close(): void {
    this.#options.lease.signal.removeEventListener("abort", this.#leaseEnded);
    this.#options.stopSignal.removeEventListener("abort", this.#stop);
    this.#links.close();
  }

  untilClosed(unlink: () => void): void {
    this.#links.add(unlink);
  }

  /** Aborts the call that writes. A stop aborts it only when none of its requests is in flight. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether a request was sent. */
  get hasSent(): boolean {
    return this.#sent > 0;
  }

  /** Whether a request may still be in flight. */
  get mayBeUnderWay(): boolean {
    return this.#underWay > 0 || this.#lost > 0;
  }

  /** Whether a request ended without a response from the server itself. */
  get isUnknown(): boolean {
    return this.#unknown > 0;
  }

  /** Whether this worker may have written twice: it repeated a request whose outcome was unknown. */
  get mayHaveWrittenTwice(): boolean {
    return this.#sent > 1 && this.isUnknown;
  }

  /** Stores the window. Here it is measured from before the statement, so it never ends later than in the database. */
  async open(): Promise<void> {
    const { windowMs, store } = this.#options;
    const askedAt = performance.now();
    await store(windowMs);
    this.#until = askedAt + windowMs * 0.9;
  }

  async send(request: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
    const { lease, stopSignal, windowMs } = this.#options;
    stopSignal.throwIfAborted();
    // The request has waited for the throttle, for a Retry-After, or for the database.
    while (this.#until - performance.now() < windowMs / 2) {
      await this.open();
      stopSignal.throwIfAborted();
    }
    lease.check();
    const leftMs = Math.max(1, Math.floor(this.#until - performance.now()));
    this.#underWay++;
    this.#sent++;
    const deadline = deadlineOf(lease.signal, leftMs);
    let status: number | null = null;
    let isBodyPending = false;
    try {
      const response = await request(deadline.signal);
      status = response.status;
      isBodyPending = !(response instanceof WholeResponse);
      return response;
    } finally {
      if (isBodyPending) this.untilClosed(deadline.unlink);
      else deadline.unlink();
      this.#underWay--;
      if (status === null) this.#lost++;
      if (status === null || status >= 500) this.#unknown++;
      this.#answeredAt = performance.now();
      if (stopSignal.aborted) this.#stop();
    }
  }

  readonly #leaseEnded = () => this.#abort.abort(this.#options.lease.signal.reason);

  readonly #stop = () => {
    if (this.#underWay > 0) return;
    const { reason } = this.#options.stopSignal;
    const readUntil = this.#answeredAt + answerGraceMs - performance.now();
    if (readUntil <= 0) this.#abort.abort(reason);
    else setTimeout(() => this.#abort.abort(reason), readUntil).unref();
  };
}
