import { claimExecutions } from "../execution/queries.ts";
import { writeChanges } from "../execution/steps/queries.ts";
import type { Patch, StepRow } from "../execution/steps/rows.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";

/** Queues an execution of a task. Returns its id. */
export async function queueExecution(sql: Sql, task_id: string): Promise<string> {
  const id = newId();
  await sql`insert into task_executions (id, task_id, source, slug, canonical_trigger, content)
    values (${id}, ${task_id}, 'alpha', 'alpha', 'issue.created', 'text')`;
  return id;
}

/** Claims the only queued execution. Later writes use the worker's own statement. */
export async function claimExecution(sql: Sql) {
  await sql`update task_executions set run_after = now() where state = 'queued'`;
  const [execution] = await claimExecutions(sql, {
    worker: newId(),
    maxExecutions: 1,
    leaseSeconds: 30,
    limits: {},
    share: null,
    leasedExecutions: [],
  });
  if (!execution) throw new Error("nothing to claim");
  const write = (steps: Partial<StepRow>[], patch: Patch) =>
    writeChanges(sql, [{ ...execution, steps: steps.map(step), completed: [], patch: { agent_id: "worker", ...patch } }]);
  return { execution, write };
}

/** A step with default values. */
export const step = (members: Partial<StepRow>): StepRow => ({
  id: newId(),
  seq: 0,
  kind: "model",
  state: "succeeded",
  name: null,
  key: null,
  input: null,
  output: null,
  error: null,
  agent_id: "worker",
  prompt_tokens: 0,
  completion_tokens: 0,
  cost_usd: null,
  duration_ms: 5,
  in_flight_ms: null,
  started_at: null,
  ended_at: null,
  ...members,
});

/** Steps of each kind that the audit distinguishes. */
export const steps = [
  { seq: 0, kind: "prompt", name: "never shown" },
  { seq: 1, name: "gpt", prompt_tokens: 100, completion_tokens: 20, duration_ms: 70 },
  { seq: 2, kind: "tool", name: "alpha.get_issue", state: "failed", error: "no such issue" },
  { seq: 3, name: "gpt", prompt_tokens: 150, completion_tokens: 30 },
  { seq: 4, kind: "post", name: "alpha", state: "dry_run" },
] as const satisfies Partial<StepRow>[];
