import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { safeSchema } from "../../tools/safe-schema.ts";
import { readResult } from "./call-tool.ts";
import { readTools, toolName } from "./list-tools.ts";

const object = { type: "object", properties: {} };

describe("safeSchema", () => {
  test("keeps what a model needs", () => {
    const given = {
      type: "object",
      description: "Both.",
      properties: {
        city: { type: "string", description: "Where.", minLength: 1, pattern: "(", format: "strange" },
        days: { type: ["integer", "null"], minimum: 1, default: 3 },
        units: { enum: ["metric", "imperial"] },
        tags: { type: "array", items: { $ref: "#/$defs/tag" } },
        list: { type: "array" },
      },
      required: ["city", "missing"],
      additionalProperties: false,
      $defs: { tag: { $ref: "#/$defs/word" }, word: { type: "string", maxLength: 9 } },
    };
    expect(safeSchema(given)).toEqual({
      type: "object",
      description: "Both.",
      properties: {
        city: { type: "string", description: "Where.", minLength: 1 },
        days: { type: ["integer", "null"], minimum: 1, default: 3 },
        units: { enum: ["metric", "imperial"] },
        tags: { type: "array", items: { type: "string", maxLength: 9 } },
        list: { type: "array", items: {} },
      },
      required: ["city"],
      additionalProperties: false,
    });
  });

  test.each([
    ["text", null],
    [{ type: "string" }, null],
    [[], null],
    [null, null],
    [{}, object],
    [{ type: "object", properties: [] }, object],
    [{ type: "object", properties: { "a b": {}, __proto__: {} }, required: "all" }, object],
    [{ type: "object", anyOf: [{ required: ["a"] }], properties: {} }, object],
    [
      { type: "object", properties: { a: { type: "date", enum: [], minLength: -1, minimum: "x" } } },
      { ...object, properties: { a: {} } },
    ],
    [{ $ref: "#" }, object],
  ])("%j becomes %j", (given, made) => {
    expect(safeSchema(given)).toEqual(made);
  });

  test("a schema that contains itself is cut", () => {
    const given = { type: "object", properties: { a: { $ref: "#" }, b: { $ref: "#" }, c: { $ref: "#/properties/c" } } };
    expect(JSON.stringify(safeSchema(given)).length).toBeLessThan(20_000);
  });

  test("any input becomes a JSON Schema of an object, and conversion is idempotent", () => {
    const words = [
      "type",
      "properties",
      "required",
      "items",
      "enum",
      "anyOf",
      "$ref",
      "$defs",
      "additionalProperties",
      "default",
    ];
    const key = fc.constantFrom(...words, "minimum", "a", "b", "__proto__", "a b");
    const value = fc.constantFrom<unknown>(
      "string",
      "object",
      "array",
      "#",
      "#/properties/a",
      "#/$defs/a",
      "a",
      1,
      -0.5,
      null,
      true,
    );
    const schema = fc.object({ key, values: [value], maxDepth: 5, maxKeys: 6, withNullPrototype: false });
    const properties = fc.dictionary(fc.string({ maxLength: 5 }), schema, { maxKeys: 4 });
    const top = fc.record({
      type: fc.constant("object"),
      properties,
      required: fc.array(value, { maxLength: 3 }),
      $defs: schema,
    });
    fc.assert(
      fc.property(top, (given) => {
        const made = safeSchema(given);
        expect(made).not.toBeNull();
        expect(() => z.fromJSONSchema(made as never)).not.toThrow();
        expect(safeSchema(JSON.parse(JSON.stringify(made)))).toEqual(made);
      }),
      { numRuns: 200 },
    );
  });
});

describe("readTools", () => {
  const tool = (name: unknown, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more });

  test("keeps the valid ones and says why others are omitted", () => {
    const { tools, left_out } = readTools([
      tool("search", { description: "Finds.", annotations: { readOnlyHint: true } }),
      tool("files/read now"),
      tool("search"),
      tool("typed", { inputSchema: { type: "array" } }),
      tool("long-running", { execution: { taskSupport: "required" } }),
      tool(7),
      null,
      tool("odd", { description: 5, annotations: "yes" }),
    ]);
    expect(tools.map(({ name, remote_name }) => [name, remote_name])).toEqual([
      ["search", "search"],
      [expect.stringMatching(/^files_read_now_[0-9a-f]{8}$/), "files/read now"],
      ["odd", "odd"],
    ]);
    expect(tools[0]).toMatchObject({ read_only: true, idempotent: false, description: "Finds." });
    expect(left_out).toMatch(/^5 of its tools omitted: .*search.*duplicate name.*typed.*long-running.*task/);
  });

  test("takes at most 200, and at most 128 KiB of descriptions", () => {
    const many = readTools(Array.from({ length: 500 }, (_, i) => tool(`t${i}`)));
    expect(many.tools).toHaveLength(200);
    expect(many.left_out).toMatch(/300 of its tools.*more than 200/);
    const wordy = readTools(Array.from({ length: 200 }, (_, i) => tool(`t${i}`, { description: "x".repeat(4_000) })));
    expect(wordy.tools.length).toBeLessThan(35);
    const properties = Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [`p${i}`, { type: "string", description: "x".repeat(99) }]),
    );
    expect(readTools([tool("big", { inputSchema: { type: "object", properties } })])).toMatchObject({
      tools: [],
      left_out: /larger/,
    });
  });

  test("names are valid and distinct", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.string({ unit: "binary", minLength: 1 }), (a, b) => {
        expect(toolName(a)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        if (a !== b) expect(toolName(a)).not.toBe(toolName(b));
      }),
    );
  });
});

describe("readResult", () => {
  test.each([
    [
      {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      ["a", "b"],
    ],
    [{ content: [], structuredContent: { ok: true } }, { ok: true }],
    [{ content: [] }, ""],
    [
      { content: [{ type: "image", data: "AAAA", mimeType: "image/png" }, null, 7] },
      ["[image image/png]", "[content of an unknown kind]", "[content of an unknown kind]"],
    ],
    [{ content: [{ type: "resource", resource: { uri: "file:///a", text: "inside" } }] }, "inside"],
    [{ content: [{ type: "resource_link", uri: "file:///a", name: "A" }] }, "[resource_link A file:///a]"],
  ])("%j is %j", (given, result) => {
    expect(readResult(given)).toEqual(result);
  });

  test.each([
    [{ isError: true, content: [{ type: "text", text: "no such city" }] }, /answered with an error: no such city/],
    [{ isError: true }, /no message/],
    [
      { isError: true, content: ["no\n<!-- such", "city"].map((text) => ({ type: "text", text })) },
      /answered with an error: no\n+city$/,
    ],
    [{}, /invalid answer to tools/],
    [{ content: "text" }, /invalid answer to tools/],
    [{ structuredContent: JSON.parse(`${"[".repeat(600)}${"]".repeat(600)}`) }, /levels deep/],
  ])("%j is a fault", (given, message) => {
    expect(() => readResult(given)).toThrow(message);
  });
});
