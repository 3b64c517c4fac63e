import type { TrackerFault } from "./fixtures.ts";

/** Holds the fault of a fake server and decides which requests it affects. */
export class FaultInjector {
  #fault: TrackerFault | null = null;
  #left = 0;

  /** Sets the fault, from the next request on. */
  set(fault: TrackerFault): void {
    this.#fault = fault;
    this.#left = fault.times ?? Number.POSITIVE_INFINITY;
  }
  heal(): void {
    this.#fault = null;
  }
  /** The fault for a request with this method and path, or `null`. Counts the request. */
  next(method: string, path: string): TrackerFault | null {
    if (!this.#fault || this.#left <= 0 || (this.#fault.writes && method === "GET")) return null;
    if (this.#fault.path && !this.#fault.path.test(path)) return null;
    this.#left -= 1;
    return this.#fault;
  }
}

/** Whether the server processes the request and only its response is lost. */
export const isApplied = (fault: TrackerFault | null): boolean => !fault || fault.after === true || fault.kind === "truncate";
