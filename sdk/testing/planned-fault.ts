import type { TrackerFault } from "./fixtures.ts";

/** The fault that a stranger in tests has at the moment, and which requests it concerns. */
export class FaultInjector {
  #fault: TrackerFault | null = null;
  #left = 0;

  /** From the next request on. */
  set(fault: TrackerFault): void {
    this.#fault = fault;
    this.#left = fault.times ?? Number.POSITIVE_INFINITY;
  }
  heal(): void {
    this.#fault = null;
  }
  /** What a request of this method meets; counts it. */
  next(method: string): TrackerFault | null {
    if (!this.#fault || this.#left <= 0 || (this.#fault.writes && method === "GET")) return null;
    this.#left -= 1;
    return this.#fault;
  }
}

/** Whether the request is carried out all the same: only its answer is lost. */
export const isApplied = (fault: TrackerFault | null): boolean => !fault || fault.after === true || fault.kind === "truncate";
