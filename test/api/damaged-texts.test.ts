import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { damagePackedTexts, storeAsBefore } from "../harness/database-faults.ts";
import { type FreshDatabase, freshDatabase } from "../harness/databases.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const repo = "octo/app";
const long = "The order total is wrong after a reload, because the discount is applied twice. ".repeat(8);
let database: FreshDatabase;
let world: World;

beforeAll(async () => {
  if (!process.env.TEST_DATABASE_URL) return;
  database = await freshDatabase("migrated");
  world = await startWorld({ databaseUrl: database.url, tasks: ["only"], script: () => ({ content: `${long}\n` }) });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await database?.drop();
});

interface Step {
  readonly kind: string;
  readonly input: unknown;
  readonly output: unknown;
  readonly unreadable?: string;
}
interface Execution {
  readonly id: string;
  readonly result: string | null;
  readonly unreadable?: string;
  readonly transcript: readonly Step[];
}

test("lists and details are answered although stored texts are damaged, and name what cannot be read", {
  tags: ["postgres"],
}, async () => {
  const open = async (number: number, state: "succeeded" | "failed") => {
    const { body } = await world.service.webhook(issueOpened({ repo, number, body: long }));
    const [execution] = await waitForExecutions(world.service, { event_id: body.event_id, state });
    return { event: `/api/webhook-events/${body.event_id}`, execution: `/api/task-executions/${execution?.id}` };
  };
  const done = await open(1, "succeeded");
  // Its answer is not posted, so its steps contain it.
  world.tracker.fault({ method: "POST", path: "/issues/2/comments", how: "status", status: 422 });
  const failed = await open(2, "failed");
  const get = async <T>(path: string) => {
    const { status, body } = await world.service.get<T>(path);
    expect(status, `${path}: ${JSON.stringify(body)}`).toBe(200);
    return body;
  };
  const before = await get<Execution>(done.execution);
  expect(before).toMatchObject({ result: long.trim() });
  expect(JSON.stringify(before)).not.toContain("unreadable");
  expect(before.transcript.find(({ kind }) => kind === "model")?.output).toMatchObject({ content: `${long}\n` });

  const damaged = await damagePackedTexts(database);
  for (const column of [
    "webhook_events.body",
    "task_executions.packed_result",
    "execution_steps.packed",
    "execution_steps.packed_output",
  ])
    expect(damaged).toContain(column);

  const why = (part: string) =>
    `The stored ${part} cannot be read: The text is packed with dictionary 8, which this release does not have.`;
  for (const { event, execution } of [done, failed]) {
    expect(await get(event)).toMatchObject({ payload: null, unreadable: expect.stringContaining(why("payload")) });
    const { transcript } = await get<Execution>(execution);
    const parts = transcript.map(({ kind, unreadable = "" }) => [kind, /^The stored (\w+) cannot be read/.exec(unreadable)?.[1]]);
    expect(parts).toEqual([
      ["prompt", "input"],
      ["model", "output"],
      ["post", "input"],
    ]);
  }
  expect(await get(done.execution)).toMatchObject({ result: null, unreadable: expect.stringContaining(why("result")) });
  const events = await get<{ payload: unknown; unreadable?: string }[]>("/api/webhook-events?fields=payload");
  expect(events.map(({ payload, unreadable }) => [payload, unreadable?.slice(0, 18)])).toEqual(
    events.map(() => [null, "The stored payload"]),
  );
  const executions = await get<Execution[]>("/api/task-executions?fields=result&state=succeeded");
  expect(executions).toMatchObject([{ result: null, unreadable: expect.stringContaining("stored result") }]);
  for (const path of ["/api/task-executions", "/api/webhook-events", "/api/subjects?q=octo", "/api/usage", "/api/status"])
    await get(path);

  const replay = await world.service.post<{ error: string }>(`${done.event}/replay`, {});
  expect([replay.status, JSON.stringify(replay.body)]).toEqual([
    409,
    expect.stringContaining("The stored payload cannot be read"),
  ]);
});

test("an execution that was stored by an earlier version is shown whole", { tags: ["postgres"] }, async () => {
  const { service } = world;
  const { body } = await service.webhook(issueOpened({ repo, number: 3, body: long }));
  const [execution] = await waitForExecutions(service, { event_id: body.event_id });
  const read = async () => (await service.get<Execution>(`/api/task-executions/${execution?.id}`)).body;
  const shown = await read();
  const answer = shown.transcript.find(({ kind }) => kind === "model");
  // An answer with white space around it was not the same text as the result, so it stayed in both places.
  const output = { ...(answer?.output as object), content: shown.result };
  expect(await storeAsBefore(database, shown.id, { result: shown.result ?? "", output })).toBe(2);
  expect(shown.transcript.find(({ kind }) => kind === "post")?.input).toMatchObject({ body: long.trim() });
  expect(await read()).toEqual({
    ...shown,
    transcript: shown.transcript.map((step) => (step === answer ? { ...step, output } : step)),
  });
});
