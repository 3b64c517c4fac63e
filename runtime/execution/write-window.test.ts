import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WholeResponse } from "../platform/network/whole-response.ts";
import { fencedFetch, runFenced } from "../platform/write-fence.ts";
import { Lease, LeaseLost } from "./lease.ts";
import { removeIfNeeded } from "./remove-if-needed.ts";
import type { StepLog } from "./step-log.ts";
import type { StepRow } from "./steps/rows.ts";
import { runWrite } from "./write-step.ts";
import { WriteWindow } from "./write-window.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const windowMs = 10_000;
function openWindow(leaseSeconds = 30) {
  const lease = new Lease(leaseSeconds, performance.now());
  const stopping = new AbortController();
  const store = vi.fn(async () => {});
  return { lease, stopping, store, window: new WriteWindow({ lease, stopSignal: stopping.signal, windowMs, store }) };
}
const ok = () => Promise.resolve(new Response("{}", { status: 201 }));

test("a lease ends by the clock of its process, from before the claim was sent, and stays ended", async () => {
  const lease = new Lease(10, performance.now() - 4_000);
  await vi.advanceTimersByTimeAsync(4_900);
  lease.check();
  await vi.advanceTimersByTimeAsync(200);
  expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
  lease.extend(performance.now());
  expect(() => lease.check()).toThrow(LeaseLost);
});

test("a renewal counts from before it was sent", async () => {
  const lease = new Lease(10, performance.now());
  const asked = performance.now();
  await vi.advanceTimersByTimeAsync(5_000);
  lease.extend(asked);
  await vi.advanceTimersByTimeAsync(4_100);
  expect(lease.isOver()).toBe(true);
});

test("a process that was frozen notices that its lease has ended before any timer runs", () => {
  const { lease, window } = openWindow(4);
  vi.setSystemTime(Date.now() + 60_000);
  vi.spyOn(performance, "now").mockReturnValue(performance.now() + 60_000);
  expect(lease.signal.aborted).toBe(false);
  expect(() => lease.check()).toThrow(LeaseLost);
  expect(window.signal.aborted).toBe(true);
  vi.restoreAllMocks();
});

test("a write goes out only inside a stored window; after a wait the window is stored again first", async () => {
  const { window, store } = openWindow(60);
  await window.open();
  await window.send(ok);
  expect(store).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(6_000);
  await window.send(ok);
  expect(store).toHaveBeenCalledTimes(2);
  expect(window.mayBeUnderWay).toBe(false);
});

test("a write is not sent after its lease has ended, nor while the window cannot be stored", async () => {
  const ended = openWindow(4);
  await ended.window.open();
  await vi.advanceTimersByTimeAsync(4_000);
  const request = vi.fn(ok);
  await expect(ended.window.send(request)).rejects.toBeInstanceOf(LeaseLost);
  const cutOff = openWindow();
  cutOff.store.mockRejectedValue(new Error("the database is unavailable"));
  await expect(cutOff.window.send(request)).rejects.toThrow("unavailable");
  expect(request).not.toHaveBeenCalled();
});

test("a request is aborted when its window or its lease ends, and then may still be under way", async () => {
  for (const leaseSeconds of [5, 60]) {
    const { window } = openWindow(leaseSeconds);
    await window.open();
    let aborted: AbortSignal | undefined;
    const sent = window.send((signal) => {
      aborted = signal;
      return new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
    });
    const failed = expect(sent).rejects.toBeDefined();
    await vi.advanceTimersByTimeAsync(leaseSeconds === 5 ? 4_600 : 9_100);
    await failed;
    expect([aborted?.aborted, window.mayBeUnderWay]).toEqual([true, true]);
  }
});

test("a request whose body arrives in parts is aborted when its window or its lease ends, until the write has ended", async () => {
  const caller = new AbortController();
  const send = async (leaseSeconds: number) => {
    const { window, lease } = openWindow(leaseSeconds);
    await window.open();
    const fetch = fencedFetch(async (_, init) => Object.assign(new Response(new ReadableStream()), { until: init?.signal }));
    const response = await runFenced(window, () => fetch("https://x.test/", { method: "POST", signal: caller.signal }));
    const { until } = response as Response & { until: AbortSignal };
    return { window, until, listeners: () => [caller.signal, lease.signal].map((one) => getEventListeners(one, "abort").length) };
  };
  const [byLease, byWindow, closed] = [await send(5), await send(60), await send(60)];
  expect(closed.listeners()).toEqual([3, 2]);
  closed.window.close();
  expect(closed.listeners()).toEqual([2, 0]);
  await vi.advanceTimersByTimeAsync(5_100);
  expect([byLease, byWindow, closed].map(({ until }) => until.aborted)).toEqual([true, false, false]);
  await vi.advanceTimersByTimeAsync(4_000);
  expect([byWindow, closed].map(({ until }) => until.aborted)).toEqual([true, false]);
  expect(byWindow.until.reason).toMatchObject({ name: "TimeoutError" });
});

test("a response that has arrived leaves neither a timer nor a listener", async () => {
  const { window, lease } = openWindow(60);
  await window.open();
  const timers = vi.getTimerCount();
  await window.send(async () => new WholeResponse(new ArrayBuffer(0), 201, []) as Response);
  expect([vi.getTimerCount(), getEventListeners(lease.signal, "abort").length]).toEqual([timers, 1]);
});

test("a removal whose response arrives in parts leaves no listener", async () => {
  const [caller, own] = [new AbortController(), new AbortController()];
  const fetch = fencedFetch(async () => new Response(new ReadableStream()));
  const remove = async () => void (await fetch("https://x.test/", { method: "DELETE", signal: caller.signal }));
  await removeIfNeeded(remove, async () => true, own.signal);
  expect([caller, own].map(({ signal }) => getEventListeners(signal, "abort").length)).toEqual([0, 0]);
});

test("a stop finishes a request under way, sends no others, and aborts waits", async () => {
  const { window, stopping } = openWindow();
  await window.open();
  const answer = Promise.withResolvers<Response>();
  const sent = window.send(() => answer.promise);
  stopping.abort(new Error("the service is stopping"));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(window.signal.aborted).toBe(false);
  answer.resolve(new Response("{}", { status: 201 }));
  expect((await sent).status).toBe(201);
  expect(window.signal.aborted).toBe(false);
  await expect(window.send(ok)).rejects.toThrow("the service is stopping");
  await vi.advanceTimersByTimeAsync(2_500);
  expect(window.signal.aborted).toBe(true);

  const waiting = openWindow();
  waiting.stopping.abort(new Error("the service is stopping"));
  expect(waiting.window.signal.aborted).toBe(true);
});

test("after a gateway error a repeated write counts as possibly made twice", async () => {
  const { window } = openWindow();
  await window.open();
  await window.send(() => Promise.resolve(new Response("", { status: 502 })));
  expect([window.mayHaveWrittenTwice, window.mayBeUnderWay]).toEqual([false, false]);
  await window.send(ok);
  expect(window.mayHaveWrittenTwice).toBe(true);
});

test("if a gateway answered the only write of an attempt with an error, the next attempt looks for it again", async () => {
  const { lease, stopping } = openWindow(60);
  const limits = { lease, stopSignal: stopping.signal, windowMs, unconfirmedStepIds: new Set<string>() };
  const step = { id: "s1", in_flight_ms: null } as StepRow;
  const log = { complete: (one: StepRow, change: Partial<StepRow>) => void Object.assign(one, change), flush: async () => {} };
  const attempt = (resumed: boolean, status: number) =>
    runWrite({ step, log: log as unknown as StepLog, resumed }, limits, async () => {
      const { ok: isOk } = await fencedFetch(async () => new Response("{}", { status }))("https://x.test/", { method: "POST" });
      if (!isOk) throw new Error("unavailable");
    });
  await expect(attempt(false, 502)).rejects.toThrow("unavailable");
  expect(step).toMatchObject({ in_flight_ms: 0 });
  const again = attempt(true, 201);
  await vi.advanceTimersByTimeAsync(0);
  await again;
  expect(step).toMatchObject({ in_flight_ms: null, check_ms: windowMs });
});

/** Resumes a write of a dead worker whose request may be on its way for `in_flight_ms` more. */
function resume(look: (signal: AbortSignal) => Promise<string | null>, write: () => Promise<string>, in_flight_ms = 8_000) {
  const { lease, stopping } = openWindow(60);
  const limits = { lease, stopSignal: stopping.signal, windowMs, unconfirmedStepIds: new Set<string>() };
  const step = { id: "s1", in_flight_ms } as StepRow;
  const log = { complete: (one: StepRow, change: Partial<StepRow>) => void Object.assign(one, change), flush: async () => {} };
  return { step, result: runWrite({ step, log: log as unknown as StepLog, resumed: true, find: look }, limits, write) };
}

test("a write of a dead worker that the platform lists is not waited for, and is checked for duplicates", async () => {
  const write = vi.fn(async () => "written again");
  const { step, result } = resume(async () => "found", write);
  await vi.advanceTimersByTimeAsync(0);
  expect(await result).toBe("found");
  expect(write).not.toHaveBeenCalled();
  expect(step).toMatchObject({ in_flight_ms: null, check_ms: windowMs });
});

test.each([
  { name: "is not listed yet", look: async () => null },
  { name: "cannot be looked for now", look: () => Promise.reject(new Error("unavailable")) },
])("one that $name is written once nothing can be on its way", async ({ look }) => {
  const write = vi.fn(async () => "written");
  const { step, result } = resume(look, write);
  await vi.advanceTimersByTimeAsync(7_900);
  expect(write).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(200);
  expect(await result).toBe("written");
  expect(step).toMatchObject({ check_ms: windowMs });
});

test("a look without an answer takes no longer than the wait", async () => {
  vi.useRealTimers();
  const began = performance.now();
  const look = (signal: AbortSignal) =>
    new Promise<null>((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
  const { result } = resume(look, async () => "written", 500.5);
  expect(await result).toBe("written");
  expect(performance.now() - began).toBeGreaterThan(490);
}, 15_000);

test("fetch asks the fence of its call for requests that may write, and only for those", async () => {
  const send = vi.fn((request: (signal: AbortSignal) => Promise<Response>) => request(new AbortController().signal));
  const fetch = fencedFetch((async () => new Response("{}")) as typeof globalThis.fetch);
  await runFenced({ send, untilClosed: () => {} }, async () => {
    await fetch("https://x.test/");
    await fetch("https://x.test/", { method: "post", body: "{}" });
    await fetch(new Request("https://x.test/", { method: "DELETE" }));
  });
  await fetch("https://x.test/", { method: "POST", body: "{}" });
  expect(send).toHaveBeenCalledTimes(2);
});

test("an attempt is stalled once the work under way has exceeded its own timeouts, and not before", async () => {
  const lease = new Lease(3_600, performance.now());
  lease.progress(90_000);
  await vi.advanceTimersByTimeAsync(119_000);
  expect(lease.isStalled()).toBe(false);
  lease.progress(10_000);
  await vi.advanceTimersByTimeAsync(39_000);
  expect(lease.isStalled()).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(lease.isStalled()).toBe(true);
});

test("a finished write leaves no listener on the long-lived stop signal", async () => {
  const { window, stopping } = openWindow();
  expect(getEventListeners(stopping.signal, "abort")).toHaveLength(1);
  window.close();
  expect(getEventListeners(stopping.signal, "abort")).toHaveLength(0);
});
