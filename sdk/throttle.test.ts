import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { httpClient } from "./http-client.ts";
import { inMemoryThrottle, type SharedThrottle } from "./shared-throttle.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0, toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** A tracker that takes `limit` writes in each minute and says how long the rest of it is. */
function tracker(limit: number, latency = 80) {
  const state = { minute: -1, used: 0, written: [] as string[], refused: new Map<string, number>() };
  const fetch = (async (_: unknown, init?: RequestInit) => {
    await new Promise((done) => setTimeout(done, latency));
    const name = String((JSON.parse(String(init?.body)) as { name: string }).name);
    const minute = Math.floor(Date.now() / 60_000);
    if (minute !== state.minute) Object.assign(state, { minute, used: 0 });
    if (state.used >= limit) {
      state.refused.set(name, (state.refused.get(name) ?? 0) + 1);
      const wait = String(Math.ceil(((minute + 1) * 60_000 - Date.now()) / 1000));
      return new Response("{}", { status: 429, headers: { "retry-after": wait } });
    }
    state.used += 1;
    state.written.push(name);
    return new Response('{"ok":true}', { status: 201 });
  }) as typeof globalThis.fetch;
  return { state, fetch };
}
const settings = { platform: "x", base: "https://tracker.example", headers: {}, secrets: [] };
const write = (client: ReturnType<typeof httpClient>, name: string, signal: AbortSignal) =>
  client.write({ route: "POST /notes", body: { name }, schema: z.object({ ok: z.boolean() }), signal });

describe("a burst of 1,000 writes at a tracker that takes 80 a minute", () => {
  test.for([0, 300])("with %i ms between writes none is refused twice, lost or doubled", async (writeInterval) => {
    const { state, fetch } = tracker(80);
    const client = httpClient({ ...settings, fetch, writeInterval });
    const signal = new AbortController().signal;
    const names = Array.from({ length: 1000 }, (_, at) => `n${at}`);
    const all = Promise.all(names.map((name) => write(client, name, signal)));
    await vi.advanceTimersByTimeAsync(20 * 60_000);
    await all;
    expect(state.written.toSorted()).toEqual(names.toSorted());
    expect([...state.refused.values()].filter((times) => times > 1)).toEqual([]);
    expect(state.refused.size).toBeLessThan(150);
  });

  test.for([0, 750])("two replicas with one queue and %i ms between writes keep to it together", async (writeInterval) => {
    const { state, fetch } = tracker(80);
    const throttle = inMemoryThrottle();
    const replicas = [0, 1].map(() => httpClient({ ...settings, fetch, writeInterval, throttle }));
    const signal = new AbortController().signal;
    const names = Array.from({ length: 1000 }, (_, at) => `n${at}`);
    const all = Promise.all(names.map((name, at) => write(replicas[at % 2] as never, name, signal)));
    await vi.advanceTimersByTimeAsync(20 * 60_000);
    await all;
    expect(state.written.toSorted()).toEqual(names.toSorted());
    expect([...state.refused.values()].filter((times) => times > 1)).toEqual([]);
    // At 750 ms there are 80 a minute, so there is nothing to refuse.
    if (writeInterval > 0) expect(state.refused.size).toBe(0);
    else expect(state.refused.size).toBeLessThan(300);
  });

  test("two separate queues exceed the limit, which the test above would notice", async () => {
    const { state, fetch } = tracker(80);
    const replicas = [0, 1].map(() => httpClient({ ...settings, fetch, writeInterval: 750 }));
    const { signal } = new AbortController();
    const all = Promise.all(Array.from({ length: 300 }, (_, at) => write(replicas[at % 2] as never, `n${at}`, signal)));
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    await all;
    expect(state.refused.size).toBeGreaterThan(0);
  });

  test.for(["the capability", "a client without it"])("reads and writes that share a limit share one queue: %s", async (of) => {
    const { state, fetch } = tracker(80);
    const { signal } = new AbortController();
    const started: number[] = [];
    const timed = ((...given: Parameters<typeof fetch>) => {
      started.push(Date.now());
      return fetch(...given);
    }) as typeof fetch;
    const client = httpClient({
      ...settings,
      fetch: timed,
      ...(of === "the capability" && { throttle: inMemoryThrottle() }),
      writeInterval: 1000,
      readInterval: 1000,
      sharedLimit: true,
    });
    const shape = z.object({ ok: z.boolean() });
    const read = (name: string) => client.read({ route: "GET /notes", body: { name }, schema: shape, signal });
    const all = Promise.all(
      ["a", "b", "c", "d"].flatMap((name) => [read(`read ${name}`), write(client, `write ${name}`, signal)]),
    );
    await vi.advanceTimersByTimeAsync(60_000);
    await all;
    expect(state.written).toHaveLength(8);
    for (let at = 1; at < started.length; at++)
      expect(Number(started[at]) - Number(started[at - 1])).toBeGreaterThanOrEqual(1000);
  });

  test("the process's own queue replaces an unreachable one", async () => {
    const { state, fetch } = tracker(80);
    const unavailable = () => Promise.reject(new Error("away"));
    const throttle: SharedThrottle = { reserve: unavailable, block: unavailable };
    const client = httpClient({ ...settings, fetch, writeInterval: 800, throttle });
    const { signal } = new AbortController();
    const all = Promise.all(Array.from({ length: 100 }, (_, at) => write(client, `n${at}`, signal)));
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    await all;
    expect(state.written).toHaveLength(100);
    expect(state.refused.size).toBe(0);
  });

  test("a request that cannot be sent before its deadline fails without being sent", async () => {
    const { state, fetch } = tracker(80);
    const client = httpClient({ ...settings, fetch });
    const stop = new AbortController();
    const all = Promise.allSettled(Array.from({ length: 200 }, (_, at) => write(client, `n${at}`, stop.signal)));
    await vi.advanceTimersByTimeAsync(30_000);
    stop.abort();
    await vi.advanceTimersByTimeAsync(10);
    const outcomes = await all;
    const failed = outcomes.flatMap((one) =>
      one.status === "rejected" ? [one.reason as { code: string; retryable: boolean }] : [],
    );
    expect(failed).toHaveLength(120);
    for (const { code, retryable } of failed) expect([code, retryable]).toEqual(["rate_limited", true]);
    expect(state.written).toHaveLength(80);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(state.written).toHaveLength(80);
  });
});
