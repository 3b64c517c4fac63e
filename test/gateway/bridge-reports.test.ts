import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { serveTasks } from "../../examples/agent-bridges/gateway.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

type Reply = () => Response;
const page =
  (status: number): Reply =>
  () =>
    new Response("<h1>An error</h1>", { status });
const refusal =
  (status: number, code: string): Reply =>
  () =>
    Response.json({ code, message: "no" }, { status });

/** A bridge with one task. The gateway answers `CompleteTask` with these, the last one repeatedly. Returns what the bridge reports. */
function serve(executionId: string, ...replies: [...Reply[], Reply]) {
  const calls: string[] = [];
  const failures: object[] = [];
  const task = Buffer.from(JSON.stringify({ executionId }));
  const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, task.byteLength]), task]);
  const answers: Record<string, (body: string) => Response | Promise<Response>> = {
    ReceiveTasks: () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(envelope) })),
    CompleteTask: () => (replies.length > 1 ? replies.shift() : replies[0])?.() ?? Response.error(),
    FailTask: (body) => {
      const { error, retryable } = JSON.parse(body);
      failures.push({ error, retryable });
      return Response.json({});
    },
    // A second session would begin after a failed one.
    RegisterAgent: () => (calls.indexOf("RegisterAgent") < calls.length - 1 ? new Promise(() => {}) : Response.json({})),
  };
  vi.stubGlobal("fetch", async (url: string, { body }: { body: string }) => {
    const method = url.split("/").at(-1) ?? "";
    calls.push(method);
    return (answers[method] ?? (() => Response.json({})))(body);
  });
  for (const level of ["log", "warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => {});
  void serveTasks({ url: "http://gateway", agentId: "a", secret: "", heartbeatSeconds: 5 }, async () => "the result");
  return { count: (method: string) => calls.filter((one) => one === method).length, failures };
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

test("a result is delivered after an outage, and after an internal error of the moment", async () => {
  const { count, failures } = serve("e1", page(502), refusal(500, "internal"), refusal(503, "unavailable"), () =>
    Response.json({}),
  );
  await vi.advanceTimersByTimeAsync(10_000);
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
