import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hourLasts } from "../../test/harness/wait.ts";
import { type ClaimedExecution, claimExecutions, reconcileBudgets } from "../execution/queries.ts";
import { newStep } from "../execution/steps/new-step.ts";
import { writeChanges } from "../execution/steps/queries.ts";
import type { Database } from "../platform/database/client.ts";
import { type TestDatabase, testDatabase, testServer } from "../platform/database/test-database.ts";
import { newId } from "../platform/ids.ts";
import { cancelReservation, reserve } from "./queries.ts";

let own: TestDatabase | null = null;
let pools: [Database, Database];
beforeAll(async () => {
  if (!testServer) return;
  own = await testDatabase(testServer, { replicas: 2, max: 6 });
  pools = own.pools as [Database, Database];
  await hourLasts();
}, 120_000);
afterAll(() => own?.drop());

const limit = 1_000;
/** The outcome of a request: it is answered for less than was reserved, fails, or its worker dies. */
const request = fc.record({
  tokens: fc.integer({ min: 1, max: 400 }),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
  end: fc.constantFrom("answered", "answered", "failed", "died"),
});
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

const claim = async (replica: number, count: number): Promise<ClaimedExecution[]> =>
  claimExecutions(pools[replica % 2]?.sql as Database["sql"], {
    worker: newId(),
    maxExecutions: count,
    leaseSeconds: 60,
    limits: {},
    share: null,
    leasedExecutions: [],
  });

async function fresh(count: number): Promise<number> {
  const { sql } = pools[0];
  const name = newId();
  const [project] = await sql<[{ id: number }]>`
    insert into projects (name, source, source_project_id, policy)
    values (${name}, 'alpha', ${name}, ${JSON.stringify({ day_tokens: limit })}::text::jsonb) returning id`;
  await sql`delete from task_executions`;
  const rows = Array.from({ length: count }, (_, n) => ({
    id: newId(),
    task_id: "t",
    canonical_trigger: "x",
    source: "alpha",
    slug: "alpha",
    project_id: project.id,
    subject: `alpha:${name}#${n}`,
    project: name,
    issue: String(n),
    content: "",
  }));
  await sql`insert into task_executions ${sql(rows)}`;
  return project.id;
}

async function end(execution: ClaimedExecution, { tokens, part, end }: Request, replica: number): Promise<number> {
  const { sql } = pools[replica % 2] as Database;
  const { id, lease } = execution;
  if (end === "failed") {
    await cancelReservation(sql, id, lease);
    return 0;
  }
  if (end === "died") {
    await sql`update task_executions set state = 'queued', lease = null, lease_expires_at = null where id = ${id}`;
    await reconcileBudgets(sql);
    return tokens;
  }
  const actual = Math.floor(tokens * part);
  const { seq } = (await sql<[{ seq: number }]>`select count(*)::int as seq from execution_steps where execution_id = ${id}`)[0];
  const step = newStep({ kind: "model", state: "succeeded", prompt_tokens: actual }, seq);
  expect(await writeChanges(sql, [{ id, lease, steps: [step], completed: [], patch: {} }])).toEqual([true]);
  return actual;
}

test("with answers, failures and crashes on two replicas, usage exceeds the limit by at most one request, and every reservation is reconciled", {
  tags: ["postgres"],
  timeout: 120_000,
}, async () => {
  const rounds = fc.array(fc.array(request, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(rounds, async (given) => {
      const { sql } = pools[0];
      const project = await fresh(5);
      const scope = `project ${project}`;
      const used = async () =>
        (await sql<{ n: number }[]>`select day_tokens::int as n from budget_usage where scope = ${scope}`)[0]?.n ?? 0;
      const reserved = async () =>
        (
          await sql<
            [{ n: number }]
          >`select coalesce(sum(tokens), 0)::int as n from budget_reservations where ${scope} = any(scopes)`
        )[0].n;
      let spent = 0;
      let held = await claim(0, 5);
      for (const [round, requests] of given.entries()) {
        const before = await used();
        const sent = await Promise.all(
          requests.map(async (one, i) => {
            const execution = held[i];
            if (!execution) return null;
            const exceeded = await reserve(
              (pools[(round + i) % 2] as Database).sql,
              {},
              {
                execution: execution.id,
                lease: execution.lease,
                projectId: project,
                agentId: null,
                tokens: one.tokens,
                usd: 0,
              },
            );
            // A used budget remains used; a budget that is only reserved is busy.
            if (exceeded) expect(exceeded.is_busy).toBe(before < limit);
            return exceeded ? null : { execution, one };
          }),
        );
        const under = sent.filter((one) => one !== null);
        expect(await used()).toBe(before);
        // All but the last were within the limit.
        const largest = Math.max(0, ...under.map(({ one }) => one.tokens));
        expect(before + (await reserved())).toBeLessThan(limit + Math.max(largest, 1) + (before >= limit ? before : 0));
        if (before >= limit) expect(under).toEqual([]);
        for (const cost of await Promise.all(under.map(({ execution, one }, i) => end(execution, one, i)))) spent += cost;
        expect(await used()).toBe(spent);
        expect(await reserved()).toBe(0);
        const dead = under.filter(({ one }) => one.end === "died").map(({ execution }) => execution.id);
        held = [...held.filter(({ id }) => !dead.includes(id)), ...(await claim(round, 5))].filter(
          ({ state }) => state === "running",
        );
      }
      expect(spent).toBeLessThan(limit + 400);
    }),
    // A smaller counterexample would take minutes to find: each try is a burst on a real database.
    { numRuns: 25, endOnFailure: true },
  );
});
