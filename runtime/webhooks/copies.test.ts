import { expect, test } from "vitest";
import type { Arrival } from "./arrival.ts";
import { splitCopies } from "./copies.ts";
import { openedEvent } from "./test-event.ts";

const from = (hook_id: string | null, digest: string, scopes = ["secret"]): Arrival => ({
  event: openedEvent({ hook_id }),
  copy: { scopes, digest },
  hookDigest: hook_id === null ? null : "the content",
  project: null,
  issue: null,
  content: "",
  executions: [],
});

test("a copy by body has its original; a copy by content is stored in a statement of its own, because its body is", () => {
  const [one, again, other, otherAgain, third] = [from("1", "a"), from("1", "a"), from("2", "b"), from("2", "b"), from("1", "c")];
  const { first, copies } = splitCopies([one, again, other, otherAgain, third]);
  expect(first).toEqual([one, third]);
  expect([...copies]).toEqual([
    [again, one],
    [otherAgain, other],
  ]);
});

test("a copy adds no names to its body", () => {
  const [one, rotating, next] = [from(null, "a", ["old"]), from(null, "a", ["new", "old"]), from(null, "a", ["new"])];
  const { first, copies } = splitCopies([one, rotating, next]);
  expect([first, [...copies]]).toEqual([[one, next], [[rotating, one]]]);
});
