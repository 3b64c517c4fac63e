import { afterAll, beforeAll, expect, test } from "vitest";
import { allText } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, roundsOf, startWorld, textsOf, type World } from "../harness/world.ts";

interface Bulk {
  readonly count: number;
  readonly samples: readonly { readonly id: string; readonly state: string }[];
  readonly confirm: string | null;
  readonly changed: number;
  readonly skipped: number;
  readonly first_error: string | null;
  readonly error: string;
}
interface Run {
  readonly id: string;
  readonly state: string;
  readonly dry_run: boolean;
  readonly agent_id: string;
  readonly task_id: string;
  readonly result: string;
  readonly result_url: string | null;
  readonly proposals: readonly Record<string, unknown>[];
}

let world: World;
let isDown = false;
/** The model waits for it before each answer. */
let thinking: Promise<void> | undefined;
const repo = "acme/webshop";
beforeAll(async () => {
  const script = async (request: Parameters<typeof roundsOf>[0]) => {
    await thinking;
    if (isDown)
      return {
        content: null,
        raw: { choices: [{ message: { role: "assistant", content: null, refusal: "It refuses." }, finish_reason: "stop" }] },
      };
    if (roundsOf(request) === 0) return callOf("add_comment", request, { body: "A note" });
    return { content: `Answer in the voice of ${/VOICE \w+/.exec(allText(request, "system"))?.[0] ?? "the agent"}` };
  };
  world = await startWorld({ tasks: ["first"], script, env: { EXECUTION_RETRY_LIMIT: "0" } });
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

const open = async (number: number) => (await world.service.webhook(issueOpened({ repo, number, sender: "mona" }))).body.event_id;
const bulk = (what: "task-executions" | "webhook-events", body: object) => world.service.post<Bulk>(`/api/${what}/bulk`, body);
const restart = { action: "restart", filter: { state: "failed", q: "refuses" } };
const audited = async (operation: string) =>
  (await world.service.get<{ after: Bulk }[]>(`/api/audit-log?operation=${operation}`)).body;

test("failed runs are restarted together: first a preview, then its confirmation", async () => {
  isDown = true;
  const events = [await open(1), await open(2), await open(3)];
  for (const event_id of events) await waitForExecutions(world.service, { event_id, state: "failed" });
  isDown = false;
  const preview = await bulk("task-executions", restart);
  expect(preview).toMatchObject({ status: 200, body: { count: 3, changed: 0, confirm: expect.any(String) } });
  expect(preview.body.samples.map(({ state }) => state)).toEqual(["failed", "failed", "failed"]);
  const confirm = preview.body.confirm ?? "";
  for (const [body, status, error] of [
    [{ ...restart, expect: 4 }, 409, /matches 3 items, not 4/],
    [{ ...restart, filter: { state: "failed" }, confirm }, 400, /confirm: belongs to another action or filter/],
    [{ ...restart, action: "cancel", confirm }, 400, /confirm/],
    [{ ...restart, confirm: "3.x.y" }, 400, /confirm/],
    [{ ...restart, filter: { stat: "failed" } }, 400, /filter: has no member "stat"; did you mean "state"\?/],
    [
      { ...restart, filter: { from: "2026-02-01T00:00:00Z", to: "2026-01-01T00:00:00Z" } },
      400,
      /^filter\.to: must be a time after/,
    ],
  ] as const) {
    const answer = await bulk("task-executions", body);
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringMatching(error)]);
  }
  expect(await audited("task-executions.bulk")).toEqual([]);
  const done = await bulk("task-executions", { ...restart, expect: 3, confirm });
  expect(done).toMatchObject({ status: 200, body: { count: 3, changed: 3, skipped: 0, confirm: null } });
  for (const event_id of events) await waitForExecutions(world.service, { event_id, state: "succeeded" });
  // There are no failures any more, so the same confirmation changes nothing.
  expect((await bulk("task-executions", { ...restart, confirm })).body).toMatchObject({ count: 0, changed: 0 });
  const [entry] = (await audited("task-executions.bulk")).slice(-1);
  expect(entry?.after).toMatchObject({ action: "restart", filter: { state: "failed", q: "refuses" }, changed: 3 });
  expect(textsOf(world.tracker, repo, 2)).toEqual(["A note", "Answer in the voice of the agent"]);
});

test("queued executions are cancelled together; those after the preview stay", async () => {
  await world.service.post("/api/pause", { scope: "all", reason: "A test" });
  await open(11);
  const filter = { subject: `${repo}#11` };
  const { body } = await bulk("task-executions", { action: "cancel", filter });
  expect(body.count).toBe(1);
  const late = await open(11);
  expect((await bulk("task-executions", { action: "release", filter })).body.count).toBe(0);
  expect((await bulk("task-executions", { action: "cancel", filter, confirm: body.confirm })).body.changed).toBe(1);
  const [left] = (await world.service.get<Run[]>(`/api/task-executions?event_id=${late}`)).body;
  expect(left?.state).toBe("queued");
  await world.service.post("/api/resume", { scope: "all" });
  await waitForExecutions(world.service, { event_id: late });
});

test("a dry replay with another prompt writes nothing, and its answer can be compared with the first", async () => {
  const event_id = await open(21);
  const [first] = await waitForExecutions(world.service, { event_id });
  const before = textsOf(world.tracker, repo, 21);
  expect(before).toHaveLength(2);
  const replay = (body: object, id = event_id) =>
    world.service.post<{ event_id: string; error: string }>(`/api/webhook-events/${id}/replay`, body);
  const again = await replay({ dry_run: true, agent_id: "qa_default", task_id: "first", prompt: "You are VOICE two." });
  expect(again.status).toBe(202);
  const [second] = await waitForExecutions(world.service, { event_id: again.body.event_id });
  const { body: run } = await world.service.get<Run>(`/api/task-executions/${second?.id}`);
  expect(run).toMatchObject({ state: "succeeded", dry_run: true, agent_id: "qa_default", task_id: "first", result_url: null });
  expect([first?.result, run.result]).toEqual(["Answer in the voice of the agent", "Answer in the voice of VOICE two"]);
  expect(run.proposals).toMatchObject([
    { kind: "tool", tool: "alpha.add_comment", target: `alpha:${repo}#21`, parameters: { body: "A note" }, state: "dry_run" },
    { kind: "comment", target: `alpha:${repo}#21`, body: expect.stringContaining("VOICE two"), state: "dry_run" },
  ]);
  expect(textsOf(world.tracker, repo, 21)).toEqual(before);
  expect((await world.service.get<{ prompt: string }>("/api/agents/qa_default")).body.prompt).not.toContain("VOICE");
  expect((await world.service.post(`/api/task-executions/${run.id}/approve`, {})).status).toBe(409);
  for (const [body, error] of [
    [{ prompt: "x" }, /prompt: can only be sent with dry_run/],
    [{ agent_id: "nobody" }, /agent_id: there is no agent "nobody"/],
    [{ dry_run: true, task_id: "nothing" }, /task_id: there is no task "nothing"/],
  ] as const) {
    const answer = await replay(body);
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringMatching(error)]);
  }
});

test("a task can be tried on an unmapped event, and a bulk replay happens once", async () => {
  const star = (await world.service.webhook({ ...issueOpened({ repo, number: 31 }), action: "pinned" })).body;
  expect(star.status).toBe("discarded");
  const tried = await world.service.post<{ event_id: string }>(`/api/webhook-events/${star.event_id}/replay`, {
    dry_run: true,
    task_id: "first",
  });
  await waitForExecutions(world.service, { event_id: tried.body.event_id, state: "succeeded" });
  const request = { action: "replay", filter: { outcome: "discarded" }, dry_run: true, task_id: "first" };
  const { body } = await bulk("webhook-events", request);
  expect(body).toMatchObject({ count: 1, samples: [{ id: star.event_id }], changed: 0 });
  const done = await bulk("webhook-events", { ...request, confirm: body.confirm });
  expect(done.body).toMatchObject({ count: 1, changed: 1, skipped: 0 });
  const twice = await bulk("webhook-events", { ...request, confirm: body.confirm });
  expect(twice.body).toMatchObject({ changed: 0, skipped: 1, first_error: expect.stringContaining("already replayed") });
  expect((await bulk("webhook-events", { ...request, dry_run: false, confirm: body.confirm })).status).toBe(400);
  await waitForExecutions(world.service);
  expect(textsOf(world.tracker, repo, 31)).toEqual([]);
});

test("a model request under way is a started step, in the API and in the stream", async () => {
  interface Step {
    readonly kind: string;
    readonly state: string;
    readonly name: string;
    readonly started_at: string;
    readonly ended_at: string | null;
  }
  let answer = () => {};
  thinking = new Promise((done) => {
    answer = done;
  });
  const event_id = await open(41);
  const [run] = await waitForExecutions(world.service, { event_id, state: "running" });
  const transcript = async () =>
    (await world.service.get<{ transcript: Step[] }>(`/api/task-executions/${run?.id}`)).body.transcript;
  const begun = await eventually(async () => {
    const steps = await transcript();
    return steps.length === 2 && steps;
  });
  expect(begun.map(({ kind, state }) => `${kind} ${state}`)).toEqual(["prompt succeeded", "model started"]);
  expect(begun[1]).toMatchObject({ name: "scripted", started_at: expect.stringMatching(/Z$/), ended_at: null });
  const stream = await fetch(`${world.service.url}/api/task-executions/${run?.id}/events?seconds=20`);
  let events = "";
  for await (const part of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    events += part;
    if (!thinking || !/"kind":"model","state":"started"/.test(events)) continue;
    thinking = undefined;
    answer();
  }
  const states = [...events.matchAll(/"kind":"model","state":"(\w+)"/g)].map((match) => match[1]);
  expect(states).toEqual(["started", "succeeded", expect.stringMatching(/started|succeeded/), ...states.slice(3)]);
  const ended = await transcript();
  expect(ended.map(({ kind, state }) => `${kind} ${state}`)).toEqual([
    "prompt succeeded",
    "model succeeded",
    "tool succeeded",
    "model succeeded",
    "post succeeded",
  ]);
  for (const { started_at, ended_at } of ended) expect(Date.parse(ended_at ?? "")).toBeGreaterThanOrEqual(Date.parse(started_at));
});
