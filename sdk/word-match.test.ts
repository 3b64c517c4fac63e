import { expect, test } from "vitest";
import { wordMatcher } from "./word-match.ts";

const words = wordMatcher((word) => word);
const of = (query: string, content: string) => words.all(query)(content);

test("ranks are on PostgreSQL's scale, so results of both stores can be merged", () => {
  // What `ts_rank_cd(to_tsvector('english', content), query, 33)` answers.
  expect(of("zebra", "full of task zebra")).toBeCloseTo(0.06728, 5);
  expect(of("zebra task", "full of task zebra")).toBeCloseTo(0.06728, 5);
  expect(words.any("zebra task")("zebra zebra zebra full of task")).toBeCloseTo(0.5 + 0.1825 / 2, 4);
  expect(of("-lion", "full of task zebra")).toBe(0);
  expect(of("lion", "full of task zebra")).toBeNull();
});

test("more hits and shorter texts rank higher", () => {
  const ranks = ["zebra zebra task", "zebra task", "a zebra behind many other words of a task"].map(
    (text) => of("zebra", text) ?? 0,
  );
  expect(ranks).toEqual([...ranks].sort((a, b) => b - a));
  expect(new Set(ranks).size).toBe(3);
});
