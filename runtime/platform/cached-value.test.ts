import { expect, onTestFinished, test, vi } from "vitest";
import { noLog } from "../transports/http/testing/door.ts";
import type { Bus } from "./bus.ts";
import { openCachedValue } from "./cached-value.ts";

const bus = { on: () => {} } as unknown as Bus;

/** Rows that change while they are read. Each read returns the rows at its start, once it is released. */
async function open() {
  const state = { stored: 0, seen: -1, reads: 0 };
  let held: (() => void)[] = [];
  let holding = false;
  const cached = await openCachedValue({
    name: "rows",
    topic: "mappings",
    bus,
    log: noLog,
    sweepMs: 3_600_000,
    read: async () => {
      state.reads++;
      const found = state.stored;
      if (holding) await new Promise<void>((done) => held.push(done));
      state.seen = found;
    },
  });
  return {
    state,
    cached,
    hold: () => {
      holding = true;
    },
    /** The last read to begin returns first. */
    letGo: () => {
      holding = false;
      for (const done of held.reverse()) done();
      held = [];
    },
  };
}
const aMoment = () => new Promise(setImmediate);

test("a value read before a change does not replace one read after it", async () => {
  const { state, cached, hold, letGo } = await open();
  hold();
  const before = cached.refresh();
  await aMoment();
  state.stored = 1;
  const after = cached.refresh();
  await aMoment();
  letGo();
  await Promise.all([before, after]);
  expect(state.seen).toBe(1);
  cached.close();
});

test("callers during a read share one more read, which sees all their changes", async () => {
  const { state, cached, hold, letGo } = await open();
  hold();
  const first = cached.refresh();
  await aMoment();
  const rest = Array.from({ length: 40 }, () => {
    state.stored++;
    return cached.refresh();
  });
  await aMoment();
  letGo();
  await first;
  await Promise.all(rest);
  expect(state).toEqual({ stored: 40, seen: 40, reads: 3 });
  cached.close();
});

test("a failed read is followed by another one", async () => {
  let fails = false;
  let reads = 0;
  const cached = await openCachedValue({
    name: "rows",
    topic: "mappings",
    bus,
    log: noLog,
    read: async () => {
      reads++;
      if (fails) throw new Error("the database is unavailable");
    },
  });
  fails = true;
  const failing = cached.refresh();
  await expect(failing).rejects.toThrow("unavailable");
  fails = false;
  await cached.refresh();
  expect(reads).toBe(3);
  cached.close();
});

test("after a failed read for a change, the value is not stale until the next sweep", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const state = { stored: 0, seen: 0, fails: false };
  const warn = vi.fn();
  let change = async () => {};
  const cached = await openCachedValue({
    name: "rows",
    topic: "mappings",
    bus: { on: (_: string, listener: () => Promise<void>) => (change = listener) } as unknown as Bus,
    log: { ...noLog, warn },
    read: async () => {
      if (state.fails) throw new Error("the database is unavailable");
      state.seen = state.stored;
    },
  });
  state.stored = 1;
  state.fails = true;
  await expect(change()).rejects.toThrow("unavailable");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(warn).toHaveBeenCalledTimes(1);
  state.fails = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(state.seen).toBe(1);
  cached.close();
});
