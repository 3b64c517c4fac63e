import { databaseInstant } from "../../platform/clock.ts";
import { newId } from "../../platform/ids.ts";
import { storable } from "../../platform/json.ts";
import type { NewStep } from "../step-log.ts";
import type { StepRow } from "./rows.ts";

/** The row of a step, with defaults for the members that it does not name. */
export function newStep(step: NewStep, seq: number): StepRow {
  const now = databaseInstant();
  return {
    started_at: now,
    ended_at: step.state === "started" ? null : now,
    name: null,
    key: null,
    input: null,
    output: null,
    error: null,
    agent_id: null,
    cost_usd: null,
    in_flight_ms: null,
    prompt_tokens: 0,
    completion_tokens: 0,
    duration_ms: 0,
    ...storable(step),
    id: newId(),
    seq,
  };
}

/** A change of a step, with the time of its end if the change ends it. */
export const endOf = (change: Partial<StepRow>): Partial<StepRow> =>
  change.state === undefined ? {} : { ended_at: change.state === "started" ? null : databaseInstant() };
