import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chunkFilter, fuseRankings } from "./find.ts";
import { merge } from "./list.ts";
import { hashEmbedding } from "./local-embedding.ts";

const dot = (a: number[], b: number[]) => a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);

describe("feature hashing", () => {
  test("any text has a vector of length 1, always the same", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 300 }), (text, dimension) => {
        const vector = hashEmbedding(text, dimension);
        expect(vector).toHaveLength(dimension);
        expect(vector).toEqual(hashEmbedding(text, dimension));
        // Features may cancel each other out in few dimensions.
        const length = Math.hypot(...vector);
        expect(length === 0 || Math.abs(length - 1) < 1e-9).toBe(true);
      }),
    );
  });
  test("texts that share words, or parts of words, are closer than others", () => {
    const at = (text: string) => hashEmbedding(text, 1536);
    const query = at("How do I deploy the service?");
    const near = dot(query, at("Deploying services is done by the release bot."));
    const far = dot(query, at("Lunch is served at noon in the kitchen."));
    expect(near).toBeGreaterThan(far + 0.1);
    expect(dot(at("Größe"), at("grosse Größe"))).toBeGreaterThan(0.5);
  });
});

test("fusion ranks results of both lists above results of one", () => {
  const ids = (...all: string[]) => all.map((id) => ({ id }));
  expect(
    fuseRankings(ids("a", "b", "c"), ids("c", "b", "d"), 10)
      .map(({ id }) => id)
      .slice(0, 2)
      .sort(),
  ).toEqual(["b", "c"]);
  expect(fuseRankings(ids("a", "b"), [], 1)).toEqual(ids("a"));
});

test("a page of two lists is the page of the merged list", () => {
  const row = fc.record({ created_at: fc.integer({ min: 1, max: 9 }).map((n) => `2026-01-0${n}`), id: fc.uuid() });
  const newest = (a: { created_at: string; id: string }, b: { created_at: string; id: string }) =>
    a.created_at === b.created_at ? (a.id < b.id ? 1 : -1) : a.created_at < b.created_at ? 1 : -1;
  fc.assert(
    fc.property(
      fc.array(row),
      fc.array(row),
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: 1, max: 10 }),
      (a, b, offset, limit) => {
        const short = [...a].sort(newest);
        const long = [...b].sort(newest);
        const recent = short.slice(0, offset + limit);
        const start = Math.max(0, offset - recent.length);
        const page = merge(recent, long.slice(start, offset + limit), offset - start, limit);
        expect(page).toEqual([...short, ...long].sort(newest).slice(offset, offset + limit));
      },
    ),
  );
});

test("which documents a filter selects", () => {
  expect(chunkFilter([{}])).toEqual({ projects: "all" });
  expect(chunkFilter([{ agent_id: "a" }])).toBeNull();
  expect(chunkFilter([{ scope: "task" }, { scope: "agent" }])).toBeNull();
  expect(chunkFilter([{ project_id: 3 }])).toEqual({ projects: [3], shared: false });
  expect(chunkFilter([{ scope: "project" }])).toEqual({ projects: "any", shared: false });
  expect(chunkFilter([{ scope: "organizational" }, { scope: "project", project_id: 3 }])).toEqual({
    projects: [3],
    shared: true,
  });
  expect(chunkFilter([{ scope: "organizational", project_id: 3 }])).toBeNull();
});
