import type { Queryable } from "../../platform/database/client.ts";
import { storable } from "../../platform/json.ts";
import type { NewStep, StepLog } from "../conversation.ts";
import type { Claimed } from "../queries.ts";
import { newStep } from "./new-step.ts";
import { type Change, loadSteps, type Patch, type StepRow } from "./queries.ts";

/** This worker no longer holds the execution: another one took it, or somebody cancelled it. Nothing may be done for it. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** What identifies an execution to write to: its id, and the lease that it is held by. */
export type Held = Pick<Claimed, "id" | "lease">;

/**
 * What has happened in an execution, step by step, each a row before the next is begun. A run that dies is continued
 * behind its last row. Every write is void when the lease is lost.
 */
export class Transcript implements StepLog {
  readonly steps: StepRow[];
  readonly #execution: Held;
  readonly #write: (change: Change) => Promise<boolean>;
  #pending: { steps: StepRow[]; settled: StepRow[] } = { steps: [], settled: [] };

  constructor(execution: Held, steps: StepRow[], write: (change: Change) => Promise<boolean>) {
    this.#execution = execution;
    this.steps = steps;
    this.#write = write;
  }

  /** Reads what earlier attempts left. A first attempt has nothing to read. */
  static async open(sql: Queryable, execution: Held, write: (change: Change) => Promise<boolean>): Promise<Transcript> {
    return new Transcript(execution, await loadSteps(sql, execution.id), write);
  }

  /** Adds a step. It is stored with the next `flush`, `patch` or `settle`. */
  add(step: NewStep): StepRow {
    const row = newStep(step, this.steps.length);
    this.steps.push(row);
    this.#pending.steps.push(row);
    return row;
  }

  /** Changes a step that is stored already, for example from `started` to `succeeded`. */
  complete(step: StepRow, change: Partial<StepRow>): void {
    Object.assign(step, storable(change));
    if (!this.#pending.steps.includes(step)) this.#pending.settled.push(step);
  }

  /** Stores what was added and settled, and `patch` of the execution with it, in one statement. */
  async flush(patch: Patch = {}): Promise<void> {
    const { steps, settled } = this.#pending;
    this.#pending = { steps: [], settled: [] };
    const { id, lease } = this.#execution;
    if (!(await this.#write({ id, lease, steps, settled, patch }))) throw new LeaseLost(`execution ${id} is no longer ours`);
  }

  /** What the execution's own row says of its steps: sums, and the agent that the prompt was made for. */
  totals(): Pick<Patch, "agent_id" | "prompt_tokens" | "completion_tokens" | "tool_calls"> {
    const [prompt] = this.steps;
    const sum = (name: "prompt_tokens" | "completion_tokens") => this.steps.reduce((total, step) => total + step[name], 0);
    return {
      ...(prompt && { agent_id: prompt.agent_id }),
      prompt_tokens: sum("prompt_tokens"),
      completion_tokens: sum("completion_tokens"),
      tool_calls: this.steps.filter((step) => step.kind === "tool").length,
    };
  }
}
