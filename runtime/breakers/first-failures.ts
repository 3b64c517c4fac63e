/** Times by `performance.now()`. */
interface Failures {
  readonly first: number;
  readonly last: number;
}

/** How long a failure of an execution counts, in milliseconds: three times as long as the longest wait between two probes. */
const rememberMs = 900_000;
/** Maximum number of executions whose failures are stored in memory. */
const maxExecutions = 10_000;

/** When executions of this replica were postponed for the first time since they last succeeded at a target. */
export class FirstFailures {
  /** By execution and target. The execution that was postponed last comes last. */
  readonly #failures = new Map<string, ReadonlyMap<string, Failures>>();

  /** When the execution failed there first, if it has now failed again. */
  firstOf(execution: string, target: string, failedAt: number): number {
    const before = this.#failures.get(execution)?.get(target);
    return before && failedAt - before.last < rememberMs ? before.first : failedAt;
  }

  /** The execution is postponed because of this failure. */
  record(execution: string, target: string, failedAt: number): void {
    const failures = { first: this.firstOf(execution, target, failedAt), last: failedAt };
    const known = this.#failures.get(execution);
    this.#failures.delete(execution);
    this.#failures.set(execution, new Map(known).set(target, failures));
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > maxExecutions && oldest !== undefined) this.#failures.delete(oldest);
  }

  /** Forgets the failures of an execution at a target, or all of them. */
  forget(execution: string, target?: string): void {
    const known = this.#failures.get(execution);
    if (!known) return;
    const others = [...known].filter(([key]) => target !== undefined && key !== target);
    if (others.length === 0) this.#failures.delete(execution);
    else this.#failures.set(execution, new Map(others));
  }
}
