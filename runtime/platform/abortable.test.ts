import { expect, test } from "vitest";
import { linkSignals, withDeadline } from "./abortable.ts";

/** A call that ends only when its signal is aborted. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason)));

test("a call is aborted at its deadline, or with the outer signal, also if that was aborted before", async () => {
  const outer = new AbortController();
  await expect(withDeadline(outer.signal, 5, untilAborted)).rejects.toMatchObject({ name: "TimeoutError" });
  const call = withDeadline(outer.signal, 60_000, untilAborted);
  outer.abort(new Error("stop"));
  await expect(call).rejects.toThrow("stop");
  await expect(withDeadline(outer.signal, 60_000, async (signal) => signal.throwIfAborted())).rejects.toThrow("stop");
});

test("a call that has ended is aborted no more", async () => {
  const outer = new AbortController();
  const kept = await withDeadline(outer.signal, 1, async (signal) => signal);
  outer.abort();
  await new Promise((done) => setTimeout(done, 5));
  expect(kept.aborted).toBe(false);
});

test("a linked signal is aborted with the first of the others, also if that was aborted before, until it is unlinked", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const link = () => linkSignals([first.signal, second.signal]);
  const [linked, unlinked] = [link(), link()];
  unlinked.unlink();
  second.abort(new Error("second"));
  first.abort(new Error("first"));
  expect(linked.signal.reason).toMatchObject({ message: "second" });
  expect(unlinked.signal.aborted).toBe(false);
  expect(link().signal.aborted).toBe(true);
});
