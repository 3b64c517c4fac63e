import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { serveTasks } from "../../examples/agent-bridges/gateway.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const streamOf = (...parts: Buffer[]) => {
  const start = (stream: ReadableStreamDefaultController) => {
    for (const part of parts) stream.enqueue(part);
  };
  return new Response(new ReadableStream({ start }));
};
type Reply = (signal: AbortSignal) => Response | Promise<Response>;
const page =
  (status: number): Reply =>
  () =>
    new Response("<h1>An error</h1>", { status });
const refusal =
  (status: number, code: string): Reply =>
  () =>
    Response.json({ code, message: "no" }, { status });
const silence: Reply = (signal) =>
  new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason), { once: true }));

/** A bridge with one task. The gateway answers `CompleteTask` with these, the last one repeatedly. Returns what the bridge reports. */
function serve(executionId: string, ...replies: [...Reply[], Reply]) {
  const calls: string[] = [];
  const failures: object[] = [];
  const task = Buffer.from(JSON.stringify({ executionId }));
  const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, task.byteLength]), task]);
  const answers: Record<string, (body: string, signal: AbortSignal) => Response | Promise<Response>> = {
    ReceiveTasks: () => streamOf(envelope),
    CompleteTask: (_, signal) => (replies.length > 1 ? replies.shift() : replies[0])?.(signal) ?? Response.error(),
    FailTask: (body) => {
      const { error, retryable } = JSON.parse(body);
      failures.push({ error, retryable });
      return Response.json({});
    },
    // A second session would begin after a failed one.
    RegisterAgent: () => (calls.indexOf("RegisterAgent") < calls.length - 1 ? new Promise(() => {}) : Response.json({})),
  };
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    const ended = new AbortController();
    setTimeout(() => ended.abort(new DOMException("The operation timed out.", "TimeoutError")), ms);
    return ended.signal;
  });
  vi.stubGlobal("fetch", async (url: string, { body, signal }: { body: string; signal: AbortSignal }) => {
    const method = url.split("/").at(-1) ?? "";
    calls.push(method);
    return (answers[method] ?? (() => Response.json({})))(body, signal);
  });
  for (const level of ["log", "warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => {});
  const work = vi.fn(async () => "the result");
  void serveTasks({ url: "http://gateway", agentId: "a", secret: "", heartbeatSeconds: 5 }, work);
  return { count: (method: string) => calls.filter((one) => one === method).length, failures, answers, envelope, work };
}

test.each([
  ["by a proxy", page(413), { error: "Its result was refused: http_413: HTTP 413", retryable: false }, 1],
  [
    "as too large",
    refusal(429, "resource_exhausted"),
    { error: "Its result was refused: resource_exhausted: no", retryable: false },
    1,
  ],
  [
    "as invalid",
    refusal(400, "invalid_argument"),
    { error: "Its result was refused: invalid_argument: no", retryable: false },
    1,
  ],
  ["by an internal error", refusal(500, "internal"), { error: "Its result was refused: internal: no", retryable: true }, 3],
])("a result that is refused %s becomes a failure with the reason", async (name, reply, failure, times) => {
  const { count, failures } = serve(name, reply);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([failures, count("CompleteTask"), count("RegisterAgent")]).toEqual([[failure], times, 1]);
});

const delivered: Reply = () => Response.json({});
test.each<[string, ...Reply[]]>([
  ["an outage and an internal error, which may be temporary", page(502), refusal(500, "internal"), refusal(503, "unavailable")],
  ["an outage of the database", refusal(503, "unavailable"), refusal(503, "unavailable"), refusal(400, "failed_precondition")],
  ["error pages of a proxy", page(500), page(404), () => Response.json(null, { status: 403 })],
  ["other errors of a proxy", () => Response.json({ code: 404 }, { status: 404 }), page(401), page(429)],
  ["a call that hangs", page(502), page(502), silence],
])("a result is delivered after %s", async (name, ...replies) => {
  const { count, failures } = serve(name, ...replies, delivered);
  await vi.advanceTimersByTimeAsync(14_000);
  expect([failures, count("CompleteTask"), count("RegisterAgent")]).toEqual([[], 4, 1]);
});

test("a result is repeated no longer than a lease, although heartbeats renew it", async () => {
  const { count } = serve("e2", page(503));
  await vi.advanceTimersByTimeAsync(20_000);
  const sent = count("CompleteTask");
  expect(count("Heartbeat")).toBeGreaterThanOrEqual(2);
  await vi.advanceTimersByTimeAsync(30_000);
  expect([count("CompleteTask"), count("RegisterAgent")]).toEqual([sent, 2]);
});

test("a task whose result was refused is worked on again when it is received again", async () => {
  const { answers, count, envelope, work } = serve("e3", page(413), delivered);
  answers.ReceiveTasks = () => streamOf(envelope, envelope);
  answers.FailTask = () => refusal(404, "not_found")(new AbortController().signal);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([work.mock.calls.length, count("CompleteTask"), count("FailTask")]).toEqual([2, 2, 1]);
});
