import { expect, test } from "vitest";
import { percentile } from "./durations.ts";
import { split } from "./operations.ts";

test("a period combines the sums of its whole days with live data for the rest", () => {
  const at = (text: string) => Date.parse(text);
  const known = { from: "2026-01-01", to: "2026-01-31" };
  expect(split(at("2026-01-10T12:00:00Z"), at("2026-02-03T00:00:00Z"), known)).toEqual({
    summed: { from: "2026-01-11", to: "2026-01-31" },
    rest: [
      { from: "2026-01-10T12:00:00.000Z", to: "2026-01-11T00:00:00.000Z" },
      { from: "2026-02-01T00:00:00.000Z", to: "2026-02-03T00:00:00.000Z" },
    ],
  });
  expect(split(at("2026-01-10T01:00:00Z"), at("2026-01-10T02:00:00Z"), known).summed).toBeNull();
  expect(split(at("2026-01-10T01:00:00Z"), at("2026-01-12T02:00:00Z"), null).rest).toHaveLength(1);
});

test("percentiles of bucketed durations", () => {
  expect(percentile(new Map(), 0.5)).toBeNull();
  expect(
    percentile(
      new Map([
        [0, 1],
        [40, 99],
      ]),
      0.5,
    ),
  ).toBe(Math.round(2 ** (40.5 / 4)));
});
