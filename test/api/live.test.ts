import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { expectRefused } from "../harness/refused.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { commentingScript, startWorld, type World } from "../harness/world.ts";

interface Change {
  readonly event: string;
  readonly id: string;
  readonly data: {
    readonly execution_id: string;
    readonly execution: { readonly state: string } | null;
    readonly step: { readonly seq: number; readonly kind: string; readonly state: string } | null;
  };
}

let world: World;
beforeAll(async () => {
  world = await startWorld({ tasks: ["only"], script: commentingScript });
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

const started = async (number: number) =>
  (await world.service.webhook(issueOpened({ repo: "acme/webshop", number, sender: "mona" }))).body.executions?.[0]?.id ?? "";

/** The whole stream, which must end by itself. */
async function streamed(path: string, lastEventId?: string): Promise<Change[]> {
  const headers = { accept: "text/event-stream", ...(lastEventId !== undefined && { "last-event-id": lastEventId }) };
  const text = await (await fetch(world.service.url + path, { headers })).text();
  return [...text.matchAll(/event: (\w+)\nid: (\S+)\ndata: (.*)\n/g)].map(([, event = "", id = "", data = ""]) => ({
    event,
    id,
    data: JSON.parse(data),
  }));
}
const states = (changes: readonly Change[]) => changes.flatMap(({ data }) => data.execution?.state ?? []);
const steps = (changes: readonly Change[]) => changes.flatMap(({ data }) => data.step?.seq ?? []);

test("an execution is followed to its end, and a stream that was cut continues behind its last event", async () => {
  const id = await started(1);
  const changes = await streamed(`/api/task-executions/${id}/events`);
  expect(states(changes).at(-1)).toBe("succeeded");
  const { body } = await world.service.get<{ transcript: { seq: number }[] }>(`/api/task-executions/${id}`);
  expect([...new Set(steps(changes))]).toEqual(body.transcript.map(({ seq }) => seq));
  const cut = changes.find(({ data }) => data.step?.seq === 2)?.id;
  const rest = await streamed(`/api/task-executions/${id}/events`, cut);
  expect(Math.min(...steps(rest))).toBe(Number(cut) + 1);
  expect(states(rest)).toEqual(["succeeded"]);
}, 60_000);

test("the service is followed, and a new stream begins with what ended in between", async () => {
  const stream = streamed("/api/events?seconds=5");
  const id = await started(2);
  const changes = (await stream).filter(({ data }) => data.execution_id === id);
  expect(states(changes).at(-1)).toBe("succeeded");
  expect(new Set(steps(changes)).size).toBeGreaterThan(2);
  const later = await started(3);
  await waitForExecutions(world.service, { count: 3 });
  const missed = await streamed("/api/events?seconds=1", changes.at(-1)?.id);
  expect(missed.map(({ data }) => data.execution_id)).toContain(later);
}, 60_000);

test("an execution that does not exist", async () => {
  expectRefused(
    await world.service.get("/api/task-executions/00000000-0000-7000-8000-000000000000/events"),
    404,
    /no task execution/,
  );
});
