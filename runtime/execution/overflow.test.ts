import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Overflow } from "./overflow.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function open() {
  const wakeOthers = vi.fn();
  const overflow = new Overflow(wakeOthers);
  const startClaim = () => {
    const end = overflow.startClaim();
    return {
      drains: () => end({ isDrained: true, hasFreeSlots: true }),
      takesSome: () => end({ isDrained: false, hasFreeSlots: true }),
      fillsSlots: () => end({ isDrained: false, hasFreeSlots: false }),
    };
  };
  return { overflow, wakeOthers, startClaim };
}

test("the other replicas are woken at once if no slot is free", () => {
  const { overflow, wakeOthers, startClaim } = open();
  overflow.add({ hasFreeSlots: false, isDelayed: true });
  expect(wakeOthers).toHaveBeenCalledOnce();
  startClaim().fillsSlots();
  expect(overflow.whileFull()).toBe(Number.POSITIVE_INFINITY);
  expect(wakeOthers).toHaveBeenCalledOnce();
});

test("executions that a claim with slots to spare takes wake no others", () => {
  const { overflow, wakeOthers, startClaim } = open();
  overflow.add({ hasFreeSlots: true, isDelayed: false });
  startClaim().drains();
  startClaim().fillsSlots();
  expect(wakeOthers).not.toHaveBeenCalled();
});

test("if a claim fills the slots, the others are woken once for what was stored before it or during it", () => {
  const { overflow, wakeOthers, startClaim } = open();
  for (let stored = 0; stored < 40; stored++) overflow.add({ hasFreeSlots: true, isDelayed: false });
  // A claim has a maximum size.
  startClaim().takesSome();
  startClaim().fillsSlots();
  expect(wakeOthers).toHaveBeenCalledTimes(1);
  startClaim().fillsSlots();
  expect(wakeOthers).toHaveBeenCalledTimes(1);
  const claim = startClaim();
  overflow.add({ hasFreeSlots: true, isDelayed: false });
  claim.fillsSlots();
  expect(wakeOthers).toHaveBeenCalledTimes(2);
});

test("what was stored during a claim with slots to spare, or before a failed one, is considered by the next one", () => {
  const { overflow, wakeOthers, startClaim } = open();
  const claim = startClaim();
  overflow.add({ hasFreeSlots: true, isDelayed: false });
  claim.drains();
  // It fails.
  startClaim();
  startClaim().fillsSlots();
  expect(wakeOthers).toHaveBeenCalledOnce();
});

test("a full replica wakes the others once when an execution becomes due, and once if it does not know when", async () => {
  const { overflow, wakeOthers, startClaim } = open();
  // A claim with slots to spare took what was due, and the next one came before a look.
  overflow.add({ hasFreeSlots: true, isDelayed: true });
  startClaim().drains();
  startClaim().fillsSlots();
  expect(wakeOthers).not.toHaveBeenCalled();
  expect([overflow.whileFull(), overflow.whileFull()]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  expect(wakeOthers).toHaveBeenCalledTimes(1);

  // It was stored during a look.
  await overflow.look(async () => {
    overflow.add({ hasFreeSlots: true, isDelayed: true });
    return null;
  });
  expect(overflow.whileFull()).toBe(Number.POSITIVE_INFINITY);
  expect(wakeOthers).toHaveBeenCalledTimes(2);

  overflow.add({ hasFreeSlots: true, isDelayed: true });
  await overflow.look(async () => 60_000);
  expect(overflow.whileFull()).toBeCloseTo(60_000, -3);
  expect(wakeOthers).toHaveBeenCalledTimes(2);
  await overflow.look(async () => 0);
  expect(overflow.whileFull()).toBe(Number.POSITIVE_INFINITY);
  expect(wakeOthers).toHaveBeenCalledTimes(3);
});
