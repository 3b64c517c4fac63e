import { expect, test } from "vitest";
import { z } from "zod";
import { PluginError } from "../errors.ts";
import { testTools } from "./index.ts";
import { failures } from "./sample/failures.ts";
import { sampleToolFixtures, sampleTools } from "./sample/plugin.ts";

const tools = (change: Parameters<typeof sampleTools>[0], at = "") =>
  failures(testTools(sampleTools(change), sampleToolFixtures), at);

const wrong: [string, Parameters<typeof sampleTools>[0], string][] = [
  ["cannot be found again", () => ({ find: async () => null }), "run succeeds with input 1"],
  [
    "claims to be idempotent",
    (t) => {
      const { find: _, ...rest } = t;
      return { ...rest, find: undefined as never, idempotent: true };
    },
    "run succeeds with input 1",
  ],
  [
    "refuses the second run of a key",
    (t) => ({
      run: async (i, c) => {
        if (await t.find?.(i, c)) throw new PluginError("conflict", "it is there already");
        return t.run(i, c);
      },
    }),
    "with the same key",
  ],
  ["is a write without either", () => ({ find: undefined as never }), "has a complete declaration"],
  ["says read and writes", () => ({ effect: "read", find: undefined as never }), "run succeeds with input 1"],
  ["has no words for a parameter", () => ({ input: z.object({ body: z.string() }) as never }), "has a complete declaration"],
  [
    "cannot be told as JSON Schema",
    () => ({ input: z.object({ body: z.custom<string>().describe("x") }) as never }),
    "has a complete declaration",
  ],
  ["takes anything", () => ({ input: z.any() as never }), "rejects invalid input"],
  [
    "answers what its output does not know",
    (t) => ({
      run: async (i, c) => {
        await t.run(i, c);
        return {} as never;
      },
    }),
    "run succeeds with input 1",
  ],
  [
    "repeats a write of unknown outcome",
    (t) => ({
      run: async (i, c) => {
        try {
          return await t.run(i, c);
        } catch {
          return await t.run(i, c);
        }
      },
    }),
    "does not repeat a write",
  ],
  [
    "throws plain errors",
    (t) => ({
      run: async (i, c) => {
        try {
          return await t.run(i, c);
        } catch (e) {
          throw new Error(String(e));
        }
      },
    }),
    "run reports the status 503",
  ],
];

test("a correct tool passes every case", async () => expect(await tools(undefined)).toEqual([]), 30_000);
test.for(wrong)("a tool that %s fails", { timeout: 30_000 }, async ([, change, at]) => {
  expect(await tools(change, at)).not.toEqual([]);
});
test("a tool without a sample fails", async () => {
  expect(await failures(testTools(sampleTools(), { tools: {} }))).toEqual(["tools of sample: every tool has a sample"]);
});
