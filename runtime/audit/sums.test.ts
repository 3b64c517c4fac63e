import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { agentOperations } from "../agents/operations.ts";
import { openBus } from "../platform/bus.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { usageOperation } from "../usage/operations.ts";
import { sumDay } from "../usage/queries.ts";
import { auditOperations } from "./operations.ts";
import { claimExecution, queueExecution, step, steps } from "./test-executions.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(async (database) => [
    ...agentOperations(await openBus(database, noLog)),
    ...auditOperations(() => ["alpha"]),
    usageOperation,
  ]);
  await door.post("/api/agents", { id: "worker", name: "Worker", role_id: "dev", prompt: "p" });
  await door.post("/api/agents", { id: "idle", name: "Idle", role_id: "dev", prompt: "p" });
}, 60_000);
afterAll(() => door?.close());
beforeEach(async () => {
  await door.sql`delete from execution_steps`;
  await door.sql`delete from task_executions`;
});

const queue = (task_id: string) => queueExecution(door.sql, task_id);
const claim = () => claimExecution(door.sql);

describe("sums", () => {
  test("of an agent and of the service", async () => {
    await queue("one");
    const one = await claim();
    await door.sql`update task_executions set started_at = now() - interval '2 seconds'`;
    await one.write([...steps], { state: "succeeded", prompt_tokens: 250, completion_tokens: 50, tool_calls: 1 });
    await queue("two");
    await (await claim()).write([{ seq: 0, kind: "tool", name: "alpha.x" }], {
      state: "failed",
      error: "no",
      tool_calls: 1,
      failed_tool_calls: 1,
    });
    await queue("three");
    await claim();
    await queue("four");
    const stats = await door.get("/api/agents/worker/usage-stats");
    expect(stats).toMatchObject({
      status: 200,
      body: {
        agent_id: "worker",
        tasks: { total: 2, succeeded: 1, failed: 1 },
        tool_calls: 2,
        tokens: { prompt: 250, completion: 50, total: 300 },
      },
    });
    // Retention and erasures remove the steps of an execution, but not its sums.
    await door.sql`delete from execution_steps`;
    expect(await door.get("/api/agents/worker/usage-stats")).toEqual(stats);
    expect(stats.body.avg_duration_ms).toBeGreaterThanOrEqual(1000);
    expect(stats.body.avg_duration_ms).toBeLessThan(10_000);
    expect(await door.get("/api/usage")).toMatchObject({
      status: 200,
      body: {
        tokens: { prompt: 250, completion: 50, total: 300 },
        tasks: { total: 4, succeeded: 1, failed: 1, running: 1, queued: 1 },
        tool_calls: { total: 2, failed: 1 },
      },
    });
  });

  test("of a chat, also after retention removed it", async () => {
    const { id, agent_id, seq, kind, state, name } = step({ name: "gpt" });
    const created_at = new Date(Date.now() - 2 * 86_400_000).toISOString();
    const chat = { id, agent_id, seq, kind, state, name, prompt_tokens: 7, completion_tokens: 3, created_at };
    await door.sql`insert into execution_steps ${door.sql(chat)}`;
    const tokens = async () => (await door.get("/api/agents/worker/usage-stats")).body.tokens;
    expect(await tokens()).toEqual({ prompt: 7, completion: 3, total: 10 });
    await sumDay(door.sql, created_at.slice(0, 10));
    expect(await tokens()).toEqual({ prompt: 7, completion: 3, total: 10 });
    await door.sql`delete from execution_steps`;
    expect(await tokens()).toEqual({ prompt: 7, completion: 3, total: 10 });
    await door.sql`delete from usage_days`;
    await door.sql`delete from usage_sums`;
  });

  test("of nothing", async () => {
    expect((await door.get("/api/agents/idle/usage-stats")).body).toEqual({
      agent_id: "idle",
      tasks: { total: 0, succeeded: 0, failed: 0 },
      tool_calls: 0,
      avg_duration_ms: null,
      tokens: { prompt: 0, completion: 0, total: 0 },
    });
    expect((await door.get("/api/usage")).body.tokens).toEqual({ prompt: 0, completion: 0, total: 0 });
  });
});
