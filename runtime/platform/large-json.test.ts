import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isDeeperThan, maxDepth, readJson } from "./json.ts";
import { createLargeJson, type LargeJson } from "./large-json.ts";
import { idleStall, repeatedStallOf } from "./test-stall.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const most = 26_214_400;

describe("depth", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  test.each([
    [nested(maxDepth), false],
    [nested(maxDepth + 1), true],
    [`{"a":${nested(maxDepth)}}`, true],
    ["[".repeat(1_000_000), true],
    [`"${"[".repeat(1_000)}"`, false],
    [`["\\"${"[".repeat(1_000)}"]`, false],
    [`["\\\\",${nested(maxDepth)}]`, true],
    [`"${"\\\\".repeat(5_000)}${"[".repeat(300)}"`, false],
    [`"[`, false],
  ])("of %# is found without parsing", (text, deeper) => expect(isDeeperThan(maxDepth, bytesOf(text))).toBe(deeper));

  const depthOf = (value: unknown): number =>
    typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  test("is that of the parsed value", () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('"', "\\", '\\"', "[", "{", "}]"));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 6 },
        text,
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(text, tie("tree"), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.integer({ min: 0, max: 8 }), (value, limit) => {
        expect(isDeeperThan(limit, bytesOf(JSON.stringify(value)))).toBe(depthOf(value) > limit);
      }),
    );
  });
});

describe("large texts", () => {
  let json: LargeJson;
  beforeAll(() => {
    json = createLargeJson();
  });
  afterAll(() => json?.close());

  const fill = (unit: string, end = "") => `[${unit.repeat(Math.floor((most - 10) / unit.length))}${end}]`;
  const shapes: [string, () => string][] = [
    ["brackets that never close", () => "[".repeat(most)],
    ["empty arrays", () => fill("[],", "0")],
    ["numbers", () => fill("1,", "0")],
    ["objects", () => fill('{"a":1},', "0")],
    ["one string", () => `{"text":"${"x".repeat(most - 20)}"}`],
    ["escaped quotes", () => `{"text":"${'\\"'.repeat((most - 20) / 2)}"}`],
    ["many members", () => `{${Array.from({ length: 1_200_000 }, (_, i) => `"m${i}":${i}`).join(",")}}`],
    ["nested pairs", () => fill(`${"[".repeat(190)}${"]".repeat(190)},`, "0")],
    ["no JSON at its end", () => `${"[".repeat(50)}${"1,".repeat(most / 2 - 100)}`],
  ];

  test.each(shapes)(
    "of %s hold up the event loop for less than 250 ms of processor time",
    { timeout: 300_000 },
    async (_, make) => {
      const bytes = bytesOf(make());
      const limit = 250 + (await idleStall());
      const parse = async () => {
        const before = process.cpuUsage();
        await json.parse(bytes);
        const { user, system } = process.cpuUsage(before);
        expect((user + system) / 1_000).toBeLessThan(20_000);
      };
      expect(await repeatedStallOf(parse, limit)).toBeLessThan(limit);
    },
  );

  test("keep the top-level members, also beside an oversized one", async () => {
    const value = {
      action: "opened",
      issue: { number: 7, title: "a" },
      commits: Array.from({ length: 300_000 }, (_, id) => ({ id })),
    };
    const read = (await json.parse(bytesOf(JSON.stringify(value)))) as { value: typeof value };
    expect(read.value).toMatchObject({ action: "opened", issue: { number: 7, title: "a" } });
    expect(read.value.commits.length).toBeLessThan(50_001);
  });

  test("are read like small ones", async () => {
    const padding = " ".repeat(300_000);
    for (const text of ['{"a":[1,"x",null,{"b":true}],"__proto__":{"c":1}}', "[1,]", '"\u0000"', "", '{"a":"\\ud800"}']) {
      const small = readJson(bytesOf(text));
      const large = await json.parse(bytesOf(padding + text));
      if ("value" in small) expect(large).toEqual(small);
      else expect(large).toMatchObject({ fault: "syntax" });
    }
    const invalid = new Uint8Array(300_000).fill(0x20);
    invalid[299_999] = 0xff;
    expect(await json.parse(invalid)).toEqual({ fault: "utf8" });
  });
});
