import type { Queryable } from "../../platform/database/client.ts";
import { storable } from "../../platform/json.ts";
import type { NewStep, StepLog } from "../step-log.ts";
import { endOf, newStep } from "./new-step.ts";
import { saveSteps } from "./queries.ts";
import type { StepRow } from "./rows.ts";

/** Steps outside of any execution: of a chat, or of one direct call of a tool. They are a record and never resumed. */
export class UnattachedSteps implements StepLog {
  readonly steps: StepRow[] = [];
  readonly #sql: Queryable;
  readonly #chatId: string | null;
  readonly #unsaved = new Set<StepRow>();

  constructor(sql: Queryable, chatId: string | null) {
    this.#sql = sql;
    this.#chatId = chatId;
  }

  add(step: NewStep): StepRow {
    const row = newStep(step, this.steps.length);
    this.steps.push(row);
    this.#unsaved.add(row);
    return row;
  }

  complete(step: StepRow, change: Partial<StepRow>): void {
    Object.assign(step, endOf(change), storable(change));
    this.#unsaved.add(step);
  }

  isOfThisAttempt(): boolean {
    return true;
  }

  async flush(): Promise<void> {
    const steps = [...this.#unsaved];
    this.#unsaved.clear();
    if (steps.length > 0) await saveSteps(this.#sql, this.#chatId, steps);
  }
}
