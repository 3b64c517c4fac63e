import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { agentOperations } from "../agents/operations.ts";
import { releaseExecutions, releaseLost } from "../execution/lease-queries.ts";
import { cancelExecutions, findExecution, requeueFailed } from "../executions/queries.ts";
import { openBus } from "../platform/bus.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { auditOperations } from "./operations.ts";
import { claimExecution, queueExecution, step, steps } from "./test-executions.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(async (database) => [
    ...agentOperations(await openBus(database, noLog)),
    ...auditOperations(() => ["alpha"]),
  ]);
  await door.post("/api/agents", { id: "worker", name: "Worker", role_id: "dev", prompt: "p" });
}, 60_000);
afterAll(() => door?.close());
beforeEach(async () => {
  await door.sql`delete from execution_steps`;
  await door.sql`delete from task_executions`;
});

const queue = (task_id: string) => queueExecution(door.sql, task_id);
const claim = () => claimExecution(door.sql);

interface Entry {
  id: string;
  event: string;
  detail: string | null;
}
const shown = (entries: Entry[]) => entries.map(({ event, detail }) => [event, detail]);
const audit = async (query = "") => (await door.get(`/api/agents/worker/audit${query}`)).body as Entry[];

describe("GET /api/agents/:id/audit", () => {
  test("an execution that succeeds: every round, call and post, newest first", async () => {
    const id = await queue("triage");
    const { write } = await claim();
    await write([...steps], { state: "succeeded", result: "Done." });
    const answer = await door.get("/api/agents/worker/audit");
    expect([answer.status, answer.total]).toEqual([200, 6]);
    expect(shown(answer.body)).toEqual([
      ["execution.succeeded", "triage"],
      ["answer.posted", "alpha: dry_run"],
      ["model.called", "gpt"],
      ["tool.called", "alpha.get_issue: failed: no such issue"],
      ["model.called", "gpt"],
      ["execution.started", "triage"],
    ]);
    const [end, , , , first] = answer.body;
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const base = { agent_id: "worker", execution_id: id, created_at: time };
    expect(first).toEqual({
      ...base,
      id: expect.any(String),
      event: "model.called",
      detail: "gpt",
      prompt_tokens: 100,
      completion_tokens: 20,
      duration_ms: 70,
    });
    expect(end).toMatchObject({ ...base, prompt_tokens: 0, completion_tokens: 0, duration_ms: expect.any(Number) });
    expect(answer.body.reduce((sum: number, one: { prompt_tokens: number }) => sum + one.prompt_tokens, 0)).toBe(250);
  });

  test("pages fit together, and ids never change", async () => {
    for (const task of ["one", "two", "three"]) {
      await queue(task);
      await (await claim()).write([...steps], { state: "succeeded" });
    }
    const all = await audit();
    expect(new Set(all.map((one) => one.id)).size).toBe(18);
    const pages = [];
    for (let offset = 0; offset < 18; offset += 5) pages.push(...(await audit(`?limit=5&offset=${offset}`)));
    expect(pages).toEqual(all);
  });

  test("pages of entries that were stored together: each is on one page", async () => {
    for (const task_id of ["one", "other"]) {
      await queue(task_id);
      await (await claim()).write([...steps], { state: "succeeded" });
    }
    await door.sql`update task_executions set started_at = '2026-01-01', finished_at = '2026-01-02'`;
    await door.sql`update execution_steps set created_at = '2026-01-02'`;
    const all = await audit();
    const pages = [];
    for (let offset = 0; offset < all.length; offset++) pages.push(...(await audit(`?limit=1&offset=${offset}`)));
    expect(pages).toEqual(all);
  });

  test("the entry of a failure keeps its id when the execution is restarted", async () => {
    const id = await queue("flaky");
    await (await claim()).write([], { state: "failed", error: "the model said 500", failures: 1 });
    const failed = (await audit())[0];
    expect(failed).toMatchObject({ event: "execution.failed", detail: "the model said 500" });
    await requeueFailed(door.sql, { ids: [id] });
    expect(shown(await audit())).toEqual([
      ["execution.restarted", null],
      ["execution.failed", "the model said 500"],
      ["execution.started", "flaky"],
    ]);
    await (await claim()).write([], { state: "failed", error: "again", failures: 1 });
    await requeueFailed(door.sql, { ids: [id] });
    await (await claim()).write([], { state: "succeeded", error: null });
    const after = await audit();
    expect(shown(after)).toEqual([
      ["execution.succeeded", "flaky"],
      ["execution.restarted", null],
      ["execution.failed", "again"],
      ["execution.restarted", null],
      ["execution.failed", "the model said 500"],
      ["execution.started", "flaky"],
    ]);
    expect(after[4]?.id).toBe(failed?.id);
    expect((await door.get("/api/agents/worker/audit")).total).toBe(6);
  });

  test("a failed execution can be restarted after more than 24.8 days", async () => {
    const id = await queue("old");
    await (await claim()).write([], { state: "failed", error: "no" });
    await door.sql`update task_executions set started_at = now() - interval '60 days'`;
    await requeueFailed(door.sql, { ids: [id] });
    await (await claim()).write([], { state: "succeeded", error: null });
    const long = { duration_ms: expect.closeTo(60 * 86_400_000, -6) };
    expect((await audit()).filter(({ event }) => /failed|succeeded/.test(event))).toMatchObject([long, long]);
    expect(await findExecution(door.sql, id)).toMatchObject(long);
  });

  test("retries, a clean stop, a dead worker and a cancellation", async () => {
    const id = await queue("hard");
    await (await claim()).write([], { state: "queued", error: "busy", failures: 1, delay_ms: 0 });
    await releaseExecutions(door.sql, [{ ...(await claim()).execution, clean: true }]);
    await claim();
    await releaseLost(door.sql, "all");
    await claim();
    await cancelExecutions(door.sql, { ids: [id] }, null);
    expect(shown(await audit())).toEqual([
      ["execution.cancelled", "hard"],
      ["execution.interrupted", null],
      ["execution.interrupted", null],
      ["execution.retried", "busy"],
      ["execution.started", "hard"],
    ]);
  });

  test("entries outside of a task have no execution", async () => {
    const { id, agent_id, seq, kind, state, name } = step({ name: "gpt" });
    await door.sql`insert into execution_steps ${door.sql({ id, agent_id, seq, kind, state, name })}`;
    expect(await audit()).toMatchObject([{ id, execution_id: null, event: "model.called" }]);
    expect((await door.get("/api/agents/worker/audit-trail")).body).toEqual([]);
  });
});

test("audit-trail: executions oldest first, their entries oldest first", async () => {
  const first = await queue("one");
  await (await claim()).write([...steps], { state: "succeeded" });
  const second = await queue("two");
  await (await claim()).write([], { state: "failed", error: "no" });
  const { status, total, body } = await door.get("/api/agents/worker/audit-trail");
  expect([status, total]).toEqual([200, 2]);
  expect(body.map((one: { execution_id: string; state: string }) => [one.execution_id, one.state])).toEqual([
    [first, "succeeded"],
    [second, "failed"],
  ]);
  expect(body[0].entries.map((one: Entry) => one.event)).toEqual([
    "execution.started",
    "model.called",
    "tool.called",
    "model.called",
    "answer.posted",
    "execution.succeeded",
  ]);
  const flat = body.flatMap((one: { entries: Entry[] }) => one.entries).map((one: Entry) => one.id);
  expect(flat.toSorted()).toEqual((await audit()).map((one) => one.id).toSorted());
  const page = await door.get("/api/agents/worker/audit-trail?limit=1&offset=1");
  expect([page.total, page.body[0].execution_id]).toEqual([2, second]);
});

test.each(["audit", "audit-trail", "usage-stats"])("%s of an unknown agent is 404, of an impossible id 400", async (what) => {
  expect(await door.get(`/api/agents/nobody/${what}`)).toMatchObject({
    status: 404,
    body: { error: expect.stringContaining("nobody") },
  });
  expect((await door.get(`/api/agents/No-Body/${what}`)).status).toBe(400);
});

test.each(["audit", "audit-trail"])("%s refuses a bad page", async (what) => {
  expect((await door.get(`/api/agents/worker/${what}?limit=none`)).status).toBe(400);
});
