import { builtManifest } from "@signalbox/sdk/manifest";
import { describe, expect, test } from "vitest";
import { breakingChanges } from "./breaking-changes.ts";

const text = { type: "string" };
const schema = (properties: object, required: string[] = []) => ({ type: "object", properties, required });
const built = (version: string, tools: Record<string, object>, more: object = {}) =>
  builtManifest.parse({
    manifest: 1,
    id: "p",
    kinds: ["tools"],
    sdk: "^0.1.0",
    version,
    bundle: { sha256: "0".repeat(64), bytes: 1 },
    contributes: {
      tools: Object.fromEntries(
        Object.entries(tools).map(([name, input]) => [name, { about: "A.", effect: "read", input, output: {} }]),
      ),
      ...more,
    },
  });
const note = (input: object, version = "1.1.0") => built(version, { note: input });
const before = (input: object) => note(input, "1.0.0");

describe("what a compatible version breaks", () => {
  test.each<[string, object, object, string[]]>([
    ["nothing", schema({ text }), schema({ text, more: text }), []],
    ["a wider type", schema({ n: { type: "integer" } }), schema({ n: { type: "number" } }), []],
    ["a wider limit", schema({ text: { ...text, maxLength: 5 } }), schema({ text: { ...text, maxLength: 9 } }), []],
    ["a required input", schema({ text }), schema({ text, to: text }, ["to"]), ["tool note: now requires the input to"]],
    ["one that was optional", schema({ text }), schema({ text }, ["text"]), ["tool note: now requires the input text"]],
    [
      "a type",
      schema({ n: { type: ["string", "number"] } }),
      schema({ n: { type: "number" } }),
      ["tool note: the input n was string, and is now number"],
    ],
    [
      "a nullable one",
      schema({ n: { anyOf: [text, { type: "null" }] } }),
      schema({ n: text }),
      ["tool note: the input n was null, and is now string"],
    ],
    ["any value", schema({ n: {} }), schema({ n: text }), ["tool note: the input n was anything, and is now string"]],
    [
      "a value",
      schema({ n: { ...text, enum: ["a", "b"] } }),
      schema({ n: { ...text, enum: ["a"] } }),
      ['tool note: the input n no longer accepts "b"'],
    ],
    [
      "all but some",
      schema({ n: text }),
      schema({ n: { ...text, enum: ["a"] } }),
      ['tool note: the input n now accepts only "a"'],
    ],
    [
      "a limit",
      schema({ text }),
      schema({ text: { ...text, maxLength: 5 } }),
      ["tool note: the input text has maxLength 5, before none"],
    ],
    [
      "something within",
      schema({ all: { type: "array", items: schema({ x: text }) } }),
      schema({ all: { type: "array", items: schema({ x: text, y: text }, ["y"]) } }),
      ["tool note: now requires the input all[].y"],
    ],
    [
      "an input that is refused now",
      schema({ text, x: text }),
      { ...schema({ text }), additionalProperties: false },
      ["tool note: no longer accepts the input x"],
    ],
  ])("%s", (_, had, has, expected) => {
    expect(breakingChanges(before(had), note(has))).toEqual(expected);
  });

  test("removed contributions of every kind, whatever their names", () => {
    const about = { about: "A." };
    const had = built(
      "1.0.0",
      { note: schema({}), constructor: schema({}) },
      { queues: { box: about }, useCases: { demo: about } },
    );
    expect(breakingChanges(had, built("1.0.1", { note: schema({}) }))).toEqual([
      "tool constructor: was removed",
      "queue box: was removed",
      "use case demo: was removed",
    ]);
  });

  test("only if the version number announces no breaking change", () => {
    const told = (from: string, to: string) => breakingChanges(built(from, { note: schema({}) }), built(to, {})).length > 0;
    expect([told("1.0.0", "1.4.0"), told("1.0.0", "1.0.1"), told("0.1.0", "0.1.1")]).toEqual([true, true, true]);
    expect([told("1.0.0", "2.0.0"), told("0.1.0", "0.2.0"), told("1.1.0", "1.0.0")]).toEqual([false, false, false]);
    expect([told("1.0.0", "1.1.0-rc.1"), told("1.0.0", "1.0.0")]).toEqual([false, false]);
    expect(breakingChanges(null, built("1.0.0", {}))).toEqual([]);
  });
});
