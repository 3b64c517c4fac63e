import { expect, test } from "vitest";
import { noLog } from "../transports/http/testing/door.ts";
import type { Bus } from "./bus.ts";
import { openCachedValue } from "./cached-value.ts";

const bus = { on: () => {} } as unknown as Bus;

/** Rows that change while they are read. Each read returns the rows at its start, once it is released. */
async function open() {
  const state = { stored: 0, seen: -1, reads: 0 };
  let held: (() => void)[] = [];
  let holding = false;
  const fresh = await openCachedValue({
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
    fresh,
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
const aMoment = () => new Promise((done) => setTimeout(done, 5));

test("a value read before a change does not replace one read after it", async () => {
  const { state, fresh, hold, letGo } = await open();
  hold();
  const before = fresh.refresh();
  await aMoment();
  state.stored = 1;
  const after = fresh.refresh();
  await aMoment();
  letGo();
  await Promise.all([before, after]);
  expect(state.seen).toBe(1);
  fresh.close();
});

test("callers during a read share one more read, which sees all their changes", async () => {
  const { state, fresh, hold, letGo } = await open();
  hold();
  const first = fresh.refresh();
  await aMoment();
  const rest = Array.from({ length: 40 }, () => {
    state.stored++;
    return fresh.refresh();
  });
  await aMoment();
  letGo();
  await first;
  await Promise.all(rest);
  expect(state).toEqual({ stored: 40, seen: 40, reads: 3 });
  fresh.close();
});

test("a failed read is followed by another one", async () => {
  let fails = false;
  let reads = 0;
  const fresh = await openCachedValue({
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
  const failing = fresh.refresh();
  await expect(failing).rejects.toThrow("unavailable");
  fails = false;
  await fresh.refresh();
  expect(reads).toBe(3);
  fresh.close();
});
