import type { Queryable } from "../../platform/database/client.ts";
import { roundDollars } from "../../platform/dollars.ts";
import { storable } from "../../platform/json.ts";
import { storedResult, withoutAnswer } from "../../transcripts/stored-steps.ts";
import { LeaseLost } from "../lease.ts";
import type { ClaimedExecution } from "../queries.ts";
import type { NewStep, StepLog } from "../step-log.ts";
import { endOf, newStep } from "./new-step.ts";
import { loadSteps } from "./queries.ts";
import type { Change, Patch, StepRow } from "./rows.ts";

/** The execution to which changes are written: its id, and the lease that must still be valid. */
type LeasedExecution = Pick<ClaimedExecution, "id" | "lease">;

/**
 * The steps of an execution, each stored before the next begins. After a crash, the run resumes after its last step.
 * Nothing is written once the lease is lost.
 */
export class Transcript implements StepLog {
  readonly steps: StepRow[];
  readonly #execution: LeasedExecution;
  readonly #write: (change: Change) => Promise<boolean>;
  /** How many steps earlier attempts stored. */
  readonly #earlier: number;
  #pending: { steps: StepRow[]; completed: StepRow[] } = { steps: [], completed: [] };

  constructor(execution: LeasedExecution, steps: StepRow[], write: (change: Change) => Promise<boolean>) {
    this.#execution = execution;
    this.steps = steps;
    this.#earlier = steps.length;
    this.#write = write;
  }

  /** Reads the steps of earlier attempts. A first attempt has none. */
  static async open(
    sql: Queryable,
    execution: LeasedExecution,
    write: (change: Change) => Promise<boolean>,
  ): Promise<Transcript> {
    return new Transcript(execution, await loadSteps(sql, execution.id), write);
  }

  /** Adds a step. The next `flush` stores it. */
  add(step: NewStep): StepRow {
    const row = newStep(step, this.steps.length);
    this.steps.push(row);
    this.#pending.steps.push(row);
    return row;
  }

  /** Changes a step that is already stored, for example from `started` to `succeeded`. */
  complete(step: StepRow, change: Partial<StepRow>): void {
    Object.assign(step, endOf(change), storable(change));
    if (!this.#pending.steps.includes(step)) this.#pending.completed.push(step);
  }

  isOfThisAttempt({ seq }: StepRow): boolean {
    return seq >= this.#earlier;
  }

  /** Stores added and completed steps, and `patch` of the execution, in one statement. Throws `LeaseLost`. */
  async flush(patch: Patch = {}): Promise<void> {
    const { steps, completed } = this.#pending;
    this.#pending = { steps: [], completed: [] };
    const { id, lease } = this.#execution;
    const { result, ...rest } = patch;
    // The URL of a comment is a text of the tracker.
    const others = storable(rest);
    const stored =
      typeof result === "string"
        ? { ...others, ...storedResult(result, this.steps) }
        : { ...others, ...(result === null && { result }) };
    const short = (step: StepRow) => withoutAnswer(step, this.steps);
    // A step may be completed more than once.
    const change = { steps: steps.map(short), completed: [...new Set(completed)].map(short) };
    if (!(await this.#write({ id, lease, patch: stored, ...change })))
      throw new LeaseLost(`another worker has the lease of the execution ${id}`);
    for (const step of [...steps, ...completed]) delete step.is_answered;
  }

  /** The columns of the execution's row that are derived from its steps: sums, and the agent of the prompt. */
  totals(): Partial<Patch> {
    const [prompt] = this.steps;
    const models = this.steps.filter((step) => step.kind === "model" && step.state !== "started");
    const priced = models.filter((step) => step.cost_usd !== null);
    const unpriced = models.filter((step) => step.cost_usd === null);
    const sum = (name: "prompt_tokens" | "completion_tokens") => this.steps.reduce((total, step) => total + step[name], 0);
    return {
      ...(prompt && { agent_id: prompt.agent_id }),
      prompt_tokens: sum("prompt_tokens"),
      completion_tokens: sum("completion_tokens"),
      tool_calls: this.steps.filter((step) => step.kind === "tool").length,
      failed_tool_calls: this.steps.filter((step) => step.kind === "tool" && step.state === "failed").length,
      model: models.at(-1)?.name ?? null,
      cost_usd: priced.length > 0 ? roundDollars(priced.reduce((total, step) => total + (step.cost_usd as number), 0)) : null,
      unpriced_tokens: unpriced.reduce((total, step) => total + step.prompt_tokens + step.completion_tokens, 0),
    };
  }
}
