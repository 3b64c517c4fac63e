import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { httpClient } from "./http-client.ts";

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
  client.write({ route: "POST /notes", body: { name }, shape: z.object({ ok: z.boolean() }), signal });

describe("a burst of 1,000 writes at a tracker that takes 80 a minute", () => {
  test.for([0, 300])("with %i ms between writes none is refused twice, none is lost, none is doubled", async (writeInterval) => {
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

  test("what cannot be sent before its deadline says so, and was not sent", async () => {
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
