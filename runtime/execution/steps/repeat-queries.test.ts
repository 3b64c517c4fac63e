import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hourLasts } from "../../../test/harness/wait.ts";
import type { Database } from "../../platform/database/client.ts";
import { type TestDatabase, testDatabase, testServer } from "../../platform/database/test-database.ts";
import { newId } from "../../platform/ids.ts";
import { newStep } from "./new-step.ts";
import { loadSteps, writeChanges } from "./queries.ts";
import { repeatChanges } from "./repeat-queries.ts";
import type { Change, Patch, StepRow } from "./rows.ts";

let own: TestDatabase | null = null;
beforeAll(async () => {
  if (!testServer) return;
  own = await testDatabase(testServer, { replicas: 1, max: 4 });
  await hourLasts();
}, 120_000);
afterAll(() => own?.drop());

const kinds = ["a request begins", "an answer", "a window again", "the end"] as const;
/** A change whose first write got no response, the outcome of that write, and how often it is written again. */
const lostChange = fc.record({
  kind: fc.constantFrom(...kinds),
  isCarriedOut: fc.boolean(),
  isTaken: fc.boolean(),
  repeats: fc.integer({ min: 1, max: 3 }),
});

test("a change that is written again is stored once, counts once, and is not stored under a lost lease", {
  tags: ["postgres"],
  timeout: 120_000,
}, async () => {
  const { sql } = (own as TestDatabase).pools[0] as Database;
  await fc.assert(
    fc.asyncProperty(fc.array(lostChange, { minLength: 1, maxLength: 6 }), async (given) => {
      const execution = await leasedExecution(sql);
      const { id } = execution;
      let model = newStep({ kind: "model", state: "started" }, 0);
      expect(await writeChanges(sql, [change(execution, { steps: [model] })])).toEqual([true]);
      let [steps, tokens] = [1, 0];
      const before: StepRow[] = [];
      for (const { kind, isCarriedOut, isTaken, repeats } of given) {
        const next = newStep({ kind: "model", state: "started" }, steps);
        const answered = { ...model, ...answer, ended_at: new Date().toISOString() };
        const lost = {
          "a request begins": change(execution, { steps: [next] }),
          "an answer": change(execution, { completed: [answered], steps: [next] }),
          "a window again": change(execution, { completed: [{ ...model, in_flight_ms: 5_000 }] }),
          // Texts are removed from steps that are stored with their outcome.
          "the end": change(execution, { completed: [...before, answered] }, { state: "succeeded", result: "Done." }),
        }[kind];
        if (isCarriedOut) expect(await writeChanges(sql, [lost])).toEqual([true]);
        if (isTaken) await sql`update task_executions set lease = 'other' where id = ${id}`;
        for (let repeat = 0; repeat < repeats; repeat++)
          expect(await repeatChanges(sql, [lost])).toEqual([!isTaken || (isCarriedOut && kind === "the end")]);
        if (isCarriedOut || !isTaken) {
          if (kind === "an answer" || kind === "the end") tokens += answer.prompt_tokens;
          if (kind === "an answer") before.push({ ...model, state: "succeeded", ended_at: answered.ended_at });
          if (lost.steps.length > 0) {
            steps++;
            model = next;
          }
        }
        if (isTaken || kind === "the end") break;
      }
      expect(await loadSteps(sql, id)).toHaveLength(steps);
      const [usage] = await sql<{ n: number }[]>`
        select coalesce(sum(day_tokens), 0)::int as n from budget_usage where scope = ${`issue ${execution.subject}`}`;
      expect(usage?.n).toBe(tokens);
    }),
    { numRuns: 150 },
  );
});

const answer = { state: "succeeded", prompt_tokens: 7, is_answered: true } as const;

test("of changes that are repeated together, those that are not stored are written", { tags: ["postgres"] }, async () => {
  const { sql } = (own as TestDatabase).pools[0] as Database;
  const executions = [await leasedExecution(sql), await leasedExecution(sql), await leasedExecution(sql)] as const;
  const changes = executions.map((one) => change(one, { steps: [newStep({ kind: "model", state: "started" }, 0)] }));
  await writeChanges(sql, changes.slice(0, 1));
  await sql`update task_executions set lease = 'other' where id = ${executions[2].id}`;
  expect(await repeatChanges(sql, changes)).toEqual([true, true, false]);
  expect(await Promise.all(executions.map(async ({ id }) => (await loadSteps(sql, id)).length))).toEqual([1, 1, 0]);
});

const change = ({ id, lease }: Leased, steps: Partial<Pick<Change, "steps" | "completed">>, patch: Patch = {}): Change => ({
  id,
  lease,
  steps: [],
  completed: [],
  ...steps,
  patch,
});

/** An execution that a worker has leased. */
async function leasedExecution(sql: Database["sql"]): Promise<Leased> {
  const [id, lease] = [newId(), newId()];
  const row = {
    id,
    task_id: "t",
    canonical_trigger: "x",
    source: "alpha",
    slug: "alpha",
    project: "r/r",
    issue: id,
    content: "",
  };
  await sql`insert into task_executions ${sql({ ...row, subject: `alpha:r/r#${id}`, state: "running", lease })}`;
  await sql`update task_executions set lease_expires_at = now() + interval '1 hour' where id = ${id}`;
  return { id, lease, subject: `alpha:r/r#${id}` };
}

interface Leased {
  readonly id: string;
  readonly lease: string;
  readonly subject: string;
}
