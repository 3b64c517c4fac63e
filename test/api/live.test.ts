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
    readonly step: { readonly seq: number; readonly kind: string; readonly state: string; readonly error: string | null } | null;
  };
}

let world: World;
beforeAll(async () => {
  world = await startWorld({ tasks: ["only"], script: commentingScript });
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

const started = async (number: number) =>
  (await world.service.webhook(issueOpened({ repo: "acme/webshop", number, sender: "mona" }))).body.executions?.[0]?.id ?? "";

const open = (path: string, lastEventId?: string) => {
  const headers = { accept: "text/event-stream", ...(lastEventId !== undefined && { "last-event-id": lastEventId }) };
  return fetch(world.service.url + path, { headers });
};
const changesIn = (text: string): Change[] =>
  [...text.matchAll(/event: (\w+)\nid: (\S+)\ndata: (.*)\n\n/g)].map(([, event = "", id = "", data = ""]) => ({
    event,
    id,
    data: JSON.parse(data),
  }));
/** The whole stream, which must end on its own. */
const streamed = async (path: string, lastEventId?: string) => changesIn(await (await open(path, lastEventId)).text());
/** What an open stream contains, up to the change that `isFound` waits for. */
async function readUntil(response: Response, isFound: (changes: readonly Change[]) => boolean): Promise<Change[]> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true });
    const changes = changesIn(text);
    if (isFound(changes)) return changes;
  }
  throw new Error(`the stream ended before that: ${text}`);
}
const states = (changes: readonly Change[]) => changes.flatMap(({ data }) => data.execution?.state ?? []);
const postErrors = (changes: readonly Change[]) =>
  changes.flatMap(({ data: { step } }) => (step?.kind === "post" && step.error ? [step.error] : []));
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
}, 120_000);

test("the service is followed, and a new stream begins with what ended in between", async () => {
  const stream = await open("/api/events?seconds=60");
  const id = await started(2);
  const of = (all: readonly Change[], one: string) => all.filter(({ data }) => data.execution_id === one);
  // The steps of an execution may come after its end.
  const isWhole = (all: readonly Change[]) => states(all).at(-1) === "succeeded" && new Set(steps(all)).size > 2;
  const changes = of(await readUntil(stream, (all) => isWhole(of(all, id))), id);
  const later = await started(3);
  await waitForExecutions(world.service, { count: 3 });
  const next = await open("/api/events?seconds=60", changes.at(-1)?.id);
  await readUntil(next, (missed) => of(missed, later).length > 0);
  // A stream of one second ends on its own.
  await streamed("/api/events?seconds=1");
}, 120_000);

test("every open stream is sent why a post failed", async () => {
  // For so long that the streams have the post as started before.
  const refusal = { method: "POST", path: "comments", status: 403, times: 0, delayMs: 900 };
  world.tracker.fault({ ...refusal, body: "Answer of" });
  const streams = await Promise.all(Array.from({ length: 40 }, () => open("/api/events?seconds=60")));
  const id = await started(4);
  const read = streams.map(async (one) => postErrors(await readUntil(one, (all) => postErrors(all).length > 0)));
  const found = [postErrors(await streamed(`/api/task-executions/${id}/events`)), ...(await Promise.all(read))];
  expect(found).toEqual(found.map(() => [expect.stringContaining("403")]));
  world.tracker.clearFaults();
}, 120_000);

test("a stream whose last event is none of this service begins anew", async () => {
  const id = await started(4);
  const path = `/api/task-executions/${id}/events`;
  const all = steps(await streamed(path));
  for (const lastEventId of ["99999999999999999999", "-5", "1;2", "x"]) {
    const again = steps(await streamed(path, lastEventId));
    expect([lastEventId, again]).toEqual([lastEventId, expect.arrayContaining(all)]);
  }
  for (const lastEventId of ["+275760-09-13T00:00:00.000Z", "0000-01-01T00:00:00Z", "5", "x"]) {
    const text = await (await open("/api/events?seconds=1", lastEventId)).text();
    expect([lastEventId, text]).toEqual([lastEventId, expect.not.stringContaining("event: error")]);
  }
});

test("an execution that does not exist", async () => {
  expectRefused(
    await world.service.get("/api/task-executions/00000000-0000-7000-8000-000000000000/events"),
    404,
    /no task execution/,
  );
});
