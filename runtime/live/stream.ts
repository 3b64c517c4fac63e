import { problem } from "@signalbox/schema/problem";
import type { Execution, Step } from "../executions/queries.ts";
import { abortable } from "../platform/abortable.ts";
import type { LiveStep } from "./queries.ts";

/** A change with the time at which it was read. All streams share it, so that it is in memory and turned into JSON once. */
export interface Change {
  readonly at: string;
  readonly data: { readonly execution_id: string; readonly execution: Execution | null; readonly step: Step | null };
}
export const changeOf = (execution: Execution, at: string): Change => ({
  at,
  data: { execution_id: execution.id, execution, step: null },
});
export const stepChangeOf = ({ execution_id, ...step }: LiveStep, at: string): Change => ({
  at,
  data: { execution_id, execution: null, step },
});

/** Whether an execution in this state has ended. */
export const isEnded = (state: Execution["state"]): boolean => ["succeeded", "failed", "cancelled"].includes(state);

/** Ends of executions and steps are stored up to this long after the times that they contain, which other clocks may have set. */
export const storeMs = 60_000;

/** If more changes wait, the reader may be too slow. Many executions can change at once. */
const manyPending = 2_000;
/** Time in which a reader for which many changes wait must take one. */
const patienceMs = 20_000;
/** If more changes wait, the stream ends even if it is read. */
const maxPending = 50_000;

/** What one reader has not received yet. Of several changes of one execution or step, only the last one waits. */
export class LiveStream {
  /** The only execution that it follows; absent: all. */
  readonly executionId: string | undefined;
  /** Time of the last change that the reader received before, in milliseconds; absent: none. */
  readonly #since: number | undefined;
  /** Whether it has received the executions with which it begins. */
  hasBegun = false;
  readonly #pending = new Map<string, Change>();
  /** Since when the reader has taken none of the changes that wait. */
  #idleSince = 0;
  #failure: unknown = null;
  #isOver = false;
  #wake = Promise.withResolvers<void>();

  constructor(only?: string, since?: number) {
    this.executionId = only;
    this.#since = since;
  }

  /**
   * Whether the stream begins with this execution: with running ones, those that are as new as `newest`, and open ones that changed
   * after the reader's last change, which another replica may have sent. Others are too many if the queue is long.
   */
  beginsWith({ at, data }: Change, newest: string): boolean {
    if (this.executionId !== undefined || !data.execution) return data.execution_id === this.executionId;
    if (data.execution.state === "running" || data.execution_id >= newest) return true;
    return this.#since !== undefined && !isEnded(data.execution.state) && Date.parse(at) >= this.#since - storeMs;
  }

  push(change: Change): void {
    const { execution_id, step } = change.data;
    if (this.#isOver || (this.executionId !== undefined && this.executionId !== execution_id)) return;
    if (this.#pending.size === 0) this.recordRead();
    const key = `${execution_id} ${step?.seq ?? ""}`;
    // The last change is the newest, so that a reader that continues behind it misses none.
    this.#pending.delete(key);
    this.#pending.set(key, change);
    if (this.#isTooSlow())
      this.fail(problem("unavailable", "The stream was read too slowly; reconnect with the Last-Event-ID of the last event."));
    this.#wake.resolve();
  }

  /** Notes that the reader took an event, from here or from elsewhere. */
  recordRead(): void {
    this.#idleSince = performance.now();
  }

  #isTooSlow(): boolean {
    const { size } = this.#pending;
    return size > maxPending || (size > manyPending && performance.now() - this.#idleSince > patienceMs);
  }

  /** All that the stream begins with is pushed. */
  begin(): void {
    this.hasBegun = true;
    this.recordRead();
    this.#wake.resolve();
  }

  /** Ends the stream after the pending changes. */
  end(): void {
    this.#isOver = true;
    this.#wake.resolve();
  }

  /** Ends the stream with an error instead of the pending changes. */
  fail(error: unknown): void {
    this.#failure ??= error;
    this.#pending.clear();
    this.end();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Resolves once the stream has begun; `false` if the signal is aborted or the stream is over. Throws its error. */
  async waitUntilBegun(signal: AbortSignal): Promise<boolean> {
    while (!this.hasBegun && !this.#isOver && !signal.aborted) await this.#change(signal);
    if (this.#failure !== null) throw this.#failure;
    return this.hasBegun && !signal.aborted;
  }

  /** The changes until the signal is aborted or the stream ends. */
  async *changes(signal: AbortSignal): AsyncGenerator<Change> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure;
      if (signal.aborted) return;
      const [next] = this.#pending;
      if (next) {
        this.#pending.delete(next[0]);
        this.recordRead();
        yield next[1];
      } else if (this.#isOver) return;
      else await this.#change(signal);
    }
  }

  async #change(signal: AbortSignal): Promise<void> {
    this.#wake = Promise.withResolvers<void>();
    await abortable(this.#wake.promise, signal).catch(() => {});
  }
}
