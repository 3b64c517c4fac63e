import { expect, test } from "vitest";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import { noLog } from "../transports/http/testing/door.ts";
import { attemptExecution } from "./attempt.ts";
import { type ClaimedExecution, claimExecutions } from "./queries.ts";
import { newStep } from "./steps/new-step.ts";
import { writeChanges } from "./steps/queries.ts";
import type { Change } from "./steps/rows.ts";

const database = useTestDatabase();

test.for([
  ["has a stream", 600, ["gateway"], true],
  ["had its last stream until the offer was stored", 0, ["gateway", "streams", "queue"], false],
] as const)("an offer to an agent that %s", { tags: ["postgres"] }, async ([_, streamSeconds, published, isOffered]) => {
  const { sql } = database();
  const [id, agent, session] = [newId(), `agent_${streamSeconds}`, newId()];
  await sql`insert into agents (id, name, role_id, prompt) values (${agent}, 'A', 'dev', 'p')`;
  await sql`insert into agent_sessions (id_hash, agent_id, expires_at) values (${session}, ${agent}, now() + interval '1 hour')`;
  await sql`insert into agent_streams (id, agent_id, session_hash, expires_at)
    values (${newId()}, ${agent}, ${session}, now() + make_interval(secs => ${streamSeconds}))`;
  const place = { source: "alpha", slug: "alpha", subject: `alpha:a/b#${agent}`, project: "a/b", issue: agent };
  await sql`insert into task_executions ${sql({ id, task_id: "t", canonical_trigger: "x", content: "", attempts: 1, ...place })}`;
  const limits = { worker: "w", maxExecutions: 1, leaseSeconds: 600, limits: {}, share: null, leasedExecutions: [] };
  const execution = (await claimExecutions(sql, limits))[0] as ClaimedExecution;
  const write = async (change: Change) => (await writeChanges(sql, [change]))[0] === true;
  const { lease } = execution;
  const plan = { agent_id: agent, model: "m", temperature: null, messages: [], tools: [] };
  const prompt = newStep({ kind: "prompt", state: "succeeded", input: plan }, 0);
  expect(await write({ id, lease, patch: {}, steps: [prompt], completed: [] })).toBe(true);

  const topics: string[] = [];
  const deps = {
    sql,
    bus: { publish: async (topic: string) => void topics.push(topic) },
    log: noLog,
    write,
    presence: { watch: () => ({ end: () => {} }), wake: () => {} },
    breakers: { executionSucceeded: async () => {} },
    // What this replica has read before.
    connected: () => true,
  };
  const { signal } = new AbortController();
  const bounds = { lease: { signal, progress: () => {} }, stopSignal: signal };
  expect(await attemptExecution(execution, bounds as never, deps as never)).toEqual({ kind: "recorded", isDone: false });
  expect(topics).toEqual(published);
  expect(await sql`select state, offered_to, offered_until > now() as is_offered from task_executions where id = ${id}`).toEqual([
    { state: "queued", offered_to: agent, is_offered: isOffered },
  ]);
});
