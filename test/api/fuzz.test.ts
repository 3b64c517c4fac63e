import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Service, startService } from "../harness/service.ts";
import { surroundings } from "../harness/world.ts";
import { from } from "./fuzz/from-schema.ts";
import { strangeBody, strangeHeaders, strangeText } from "./fuzz/strange.ts";
import { faultsOf, type Operation, operations } from "./statuses/document.ts";

/**
 * Requests to every operation of `openapi.json`, at most half of them valid. `FUZZ_SEED` repeats a run, `FUZZ_RUNS` makes a
 * longer one.
 */
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.FUZZ_RUNS ?? 30);
console.log(`fuzz: FUZZ_SEED=${seed}, ${numRuns} requests to each of ${operations.length} operations`);

const key = "the-key-of-an-admin";
let tracker: Tracker;
let model: Model;
let service: Service;
beforeAll(async () => {
  tracker = await startTracker({ token: "tracker-token", autoCreate: true });
  model = await startModel();
  const env = {
    ...surroundings(tracker, model),
    API_KEYS: key,
    ENCRYPTION_KEY: "0".repeat(64),
    WATCHDOG_ENABLED: "true",
    HOST: "127.0.0.1",
  };
  service = await startService({ seed: true, apiKey: key, env });
  await service.webhook(issueOpened({ repo: "octo/app", number: 1 }));
}, 180_000);
afterAll(async () => {
  await service?.close();
  await Promise.all([tracker?.close(), model?.close()]);
}, 120_000);

interface Request {
  readonly path: string;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  readonly headers: Record<string, string>;
}

/** A path segment as it may be sent: escaped, or raw if that is still a path. */
const segment = (schema: object) =>
  fc.oneof(
    { arbitrary: from(schema).map((value) => escaped(textOf(value))), weight: 6 },
    { arbitrary: strangeText.map((value) => escaped(value.slice(0, 2000))), weight: 3 },
    { arbitrary: fc.constantFrom("%", "%ff", "%00", "%c0%af", "%ed%a0%80", "a%2fb", "%252e", "a;b", "a%3fb"), weight: 1 },
  );
const textOf = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
const escaped = (text: string) => encodeURIComponent(text.toWellFormed()) || "%20";

function requestTo({ path, params, query, body }: Operation): fc.Arbitrary<Request> {
  const segments = fc.record(Object.fromEntries(params.map(({ name, schema }) => [name, segment(schema)])));
  const asked = fc.record(Object.fromEntries(query.map(({ name, schema }) => [name, from(schema).map(textOf)])), {
    requiredKeys: query.filter(({ required }) => required).map(({ name }) => name),
  });
  const sent = body
    ? fc.oneof(
        { arbitrary: from(body).map((value) => JSON.stringify(value) ?? ""), weight: 6 },
        { arbitrary: strangeBody, weight: 1 },
      )
    : fc.constant(null);
  const headers = fc.oneof({ arbitrary: fc.constant({}), weight: 3 }, { arbitrary: strangeHeaders, weight: 1 });
  return fc.tuple(segments, asked, sent, headers).map(([filled, search, text, more]) => ({
    path:
      path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(filled[name])) +
      (Object.keys(search).length > 0 ? `?${new URLSearchParams(search as Record<string, string>)}` : ""),
    body: text,
    headers: { authorization: `Bearer ${key}`, ...(text !== null && { "content-type": "application/json" }), ...more },
  }));
}

/**
 * Responses of the whole API, whatever the operation: no such path or method; a body or path that is too large or of another
 * kind.
 */
const everywhere = [400, 404, 405, 413, 415, 431];

/** How often each status occurred. */
const answered = new Map<number, number>();

async function check(op: Operation, { path, body, headers }: Request): Promise<void> {
  const response = await fetch(service.url + path, { method: op.method, headers, body, signal: AbortSignal.timeout(30_000) });
  const { status } = response;
  answered.set(status, (answered.get(status) ?? 0) + 1);
  // A stream lasts as long as the request asked; reading all of it would leave no time for other requests.
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    expect(op.statuses).toContain(status);
    return response.body?.cancel();
  }
  const text = await response.text();
  const answer = text === "" ? null : JSON.parse(text);
  expect([...op.statuses, ...everywhere], `${status} ${text.slice(0, 300)}`).toContain(status);
  if (status < 400) {
    expect(faultsOf(op.id, status, answer)).toEqual([]);
    return;
  }
  expect(answer).toEqual({ error: expect.stringMatching(/\w \w/) });
  expect(answer.error).not.toMatch(
    /\.ts:\d|\bat \w+ \(|insert into|select .* from|PostgresError|node_modules|\[object Object\]/i,
  );
}

test.each(operations.map((op) => [op.id, op] as const))("%s", { timeout: 120_000 }, async (_, op) => {
  const property = fc.asyncProperty(requestTo(op), (request) => check(op, request));
  const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns, interruptAfterTimeLimit: 15_000 });
  if (failed)
    throw new Error(`FUZZ_SEED=${seed}: ${fc.stringify(counterexample).slice(0, 3000)}\n${(errorInstance as Error).message}`);
});

test("valid and invalid requests were sent", () => {
  console.log(
    `fuzz: answered ${[...answered]
      .sort()
      .map(([status, times]) => `${times} × ${status}`)
      .join(", ")}`,
  );
  for (const status of [200, 201, 204, 400, 404, 409]) expect(answered.get(status) ?? 0, String(status)).toBeGreaterThan(0);
});

test("no response was unexpected, and the service still serves", async () => {
  expect((await service.get("/health")).status).toBe(200);
  expect(service.logs()).not.toMatch(/request failed|unhandled|uncaught/i);
  expect((await service.get<unknown[]>("/api/agents")).body).toBeInstanceOf(Array);
});
