import { expect, test, vi } from "vitest";
import { Overflow } from "./overflow.ts";

function open() {
  const wakeOthers = vi.fn();
  const overflow = new Overflow(wakeOthers);
  const startClaim = () => {
    const end = overflow.startClaim();
    return { drains: () => end(true, true), takesSome: () => end(false, true), fillsSlots: () => end(false, false) };
  };
  return { overflow, wakeOthers, startClaim };
}

test("the other replicas are woken at once if no slot is free", () => {
  const { overflow, wakeOthers, startClaim } = open();
  overflow.add(false);
  expect(wakeOthers).toHaveBeenCalledOnce();
  startClaim().fillsSlots();
  expect(wakeOthers).toHaveBeenCalledOnce();
});

test("executions that a claim with slots to spare takes wake no others", () => {
  const { overflow, wakeOthers, startClaim } = open();
  overflow.add(true);
  startClaim().drains();
  startClaim().fillsSlots();
  expect(wakeOthers).not.toHaveBeenCalled();
});

test("if a claim fills the slots, the others are woken once for what was stored before it or during it", () => {
  const { overflow, wakeOthers, startClaim } = open();
  for (let stored = 0; stored < 40; stored++) overflow.add(true);
  // A claim has a maximum size.
  startClaim().takesSome();
  startClaim().fillsSlots();
  expect(wakeOthers).toHaveBeenCalledTimes(1);
  startClaim().fillsSlots();
  expect(wakeOthers).toHaveBeenCalledTimes(1);
  const claim = startClaim();
  overflow.add(true);
  claim.fillsSlots();
  expect(wakeOthers).toHaveBeenCalledTimes(2);
});

test("what was stored during a claim with slots to spare, or before a failed one, is considered by the next one", () => {
  const { overflow, wakeOthers, startClaim } = open();
  const claim = startClaim();
  overflow.add(true);
  claim.drains();
  // It fails.
  startClaim();
  startClaim().fillsSlots();
  expect(wakeOthers).toHaveBeenCalledOnce();
});
