import { expect, test } from "vitest";
import { FirstFailures } from "./first-failures.ts";

const minute = 60_000;

test("an execution is judged by its first failure until it succeeds, ends, or does not fail for a quarter of an hour", () => {
  const failures = new FirstFailures();
  const fail = (at: number, execution = "one") => {
    const first = failures.firstOf(execution, "model", at);
    failures.record(execution, "model", at);
    return first;
  };
  expect([fail(minute), fail(10 * minute), fail(24 * minute)]).toEqual([minute, minute, minute]);
  expect(fail(39 * minute)).toBe(39 * minute);

  failures.forget("one", "connection alpha environment");
  expect(fail(40 * minute)).toBe(39 * minute);
  failures.forget("one", "model");
  expect(fail(41 * minute)).toBe(41 * minute);
  failures.forget("one");
  expect(fail(42 * minute)).toBe(42 * minute);
  expect(fail(43 * minute, "other")).toBe(43 * minute);
});

test("failures of more than 10,000 executions forget only the oldest", () => {
  const failures = new FirstFailures();
  for (let at = 1; at <= 10_000; at++) failures.record(`${at}`, "model", at);
  failures.record("1", "model", 10_001);
  failures.record("another", "model", 10_002);
  expect(["1", "2", "3"].map((execution) => failures.firstOf(execution, "model", 10_003))).toEqual([1, 10_003, 3]);
});
