import { empty, operation, pageOf, paging } from "@signalbox/schema/operation";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { declaredOperations } from "../declared-operations.ts";
import { readArguments, UsageError } from "./arguments.ts";
import { verbsHelp } from "./help.ts";
import { asJson, asTable } from "./output.ts";
import { verbsOf } from "./verbs.ts";

const op = operation({
  id: "widgets.change",
  http: "PUT /api/widgets/:id/:part",
  summary: "Change a widget.",
  input: z.object({
    id: z.int(),
    part: z.string(),
    long_name: z.string().nullish().describe("Its name."),
    size: z.number().optional(),
    on: z.boolean().default(true),
    labels: z.array(z.string()).optional(),
    scopes: z.array(z.enum(["a", "b"])).default([]),
    settings: z.record(z.string(), z.unknown()).optional(),
    limit: paging.limit,
  }),
});
const [verb] = verbsOf([op]);
if (!verb) throw new Error("no verb");
const files: Record<string, string> = { "@given.json": '{"long_name":"from the file","size":1}', "-": '{"deep":[1]}' };
const read = async (from: string) => files[from] ?? Promise.reject(new Error(`no ${from}`));
const input = async (...args: string[]) => (await readArguments(verb, args, read)).input;
const complaint = async (...args: string[]) => {
  const error = await readArguments(verb, args, read).catch((one) => one);
  expect(error).toBeInstanceOf(UsageError);
  return error.message as string;
};

describe("arguments of a verb", () => {
  test("path members are positional arguments or flags", async () => {
    expect(await input("7", "left")).toEqual({ id: 7, part: "left" });
    expect(await input("--id", "7", "--part=left")).toEqual({ id: 7, part: "left" });
  });
  test("each kind of member is parsed by its type", async () => {
    const given = [
      "7",
      "left",
      "--long-name",
      "x",
      "--size=-1.5",
      "--no-on",
      "--labels",
      "a,b",
      "--label",
      "c",
      "--scope",
      "a,b",
      "--settings",
      "-",
    ];
    expect(await input(...given)).toEqual({
      id: 7,
      part: "left",
      long_name: "x",
      size: -1.5,
      on: false,
      labels: ["a,b", "c"],
      scopes: ["a", "b"],
      settings: { deep: [1] },
    });
  });
  test("only a list has the format table, and a mistyped flag leads to the right one", async () => {
    expect(await complaint("7", "left", "--format", "table")).toBe("--format: only lists can be shown as a table");
    expect(await complaint("7", "left", "--long-nme", "x")).toBe("unknown option --long-nme; did you mean --long-name?");
    expect(await complaint("7", "left", "--bogus")).toBe("unknown option --bogus");
  });
  test("flags win over --json", async () => {
    expect(await input("7", "left", "--json", "@given.json", "--size", "2")).toEqual({
      id: 7,
      part: "left",
      long_name: "from the file",
      size: 2,
    });
    expect(await input("--json", '{"id":1,"part":"p","long_name":null}')).toEqual({ id: 1, part: "p", long_name: null });
  });
  test("errors name the argument as it was written", async () => {
    expect(await complaint("7")).toMatch(/^--part: is required/);
    expect(await complaint("seven", "left")).toMatch(/^--id: /);
    expect(await complaint("7", "left", "right")).toMatch(/unexpected argument "right": change takes <id> <part>/);
    expect(await complaint("7", "left", "--size", "big")).toMatch(/^--size: /);
    expect(await complaint("7", "left", "--scopes", "a,c")).toMatch(/^--scopes/);
    expect(await complaint("7", "left", "--colour", "red")).toMatch(/--colour/);
    expect(await complaint("7", "left", "--settings", "{")).toMatch(/^--settings: must be JSON, @file/);
    expect(await complaint("7", "left", "--json", "[]")).toMatch(/^--json: must be a JSON object/);
    expect(await complaint("7", "left", "--format", "xml")).toMatch(/^--format/);
    expect(await complaint("7", "left", "--remote")).toMatch(/--remote/);
  });
});

test("every operation that HTTP offers is a verb, with help", () => {
  const operations = declaredOperations().map((bound) => bound.op);
  const verbs = verbsOf(operations);
  expect(verbs.map((one) => one.op.id)).toEqual(operations.filter((one) => one.http && !one.streaming).map((one) => one.id));
  expect(new Set(verbs.map((one) => `${one.noun} ${one.verb}`)).size).toBe(verbs.length);
  for (const one of verbs) expect(verbsHelp([one])).toContain(one.op.summary);
});

test("a member may not have the name of a global flag", () => {
  const clashing = operation({
    id: "x.y",
    http: "POST /x",
    summary: "X.",
    input: z.object({ format: z.string() }),
    output: empty,
  });
  expect(() => verbsOf([clashing])).toThrow(/x\.y.*format/);
});

describe("output", () => {
  const items = z.object({
    id: z.int(),
    name: z.string().nullable(),
    tags: z.array(z.string()),
    deep: z.object({}),
    none: z.null(),
  });
  const list = operation({ id: "x.list", http: "GET /x", summary: "X.", output: pageOf(items) });
  const rows = [
    { id: 1, name: "short", tags: ["a", "b"], deep: {}, none: null },
    { id: 22, name: `two\nlines ${"x".repeat(60)}`, tags: [], deep: {}, none: null },
  ];
  test("a table has the plain members, cut to the terminal", () => {
    const [head, first, second] = asTable(list, rows, 80).split("\n");
    expect(head?.split(/\s+/)).toEqual(["ID", "NAME", "TAGS"]);
    expect(first).toMatch(/^1 {3}short +a,b$/);
    expect(second).toMatch(/^22 {2}two lines x+…$/);
    expect(asTable(list, rows, 45).split("\n")[0]?.split(/\s+/)).toEqual(["ID", "NAME"]);
    expect(asTable(list, [], 80)).toBe("\n");
  });
  test("text of trackers cannot control the terminal", () => {
    const evil = "\u001b[31mred\u009b2J";
    for (const text of [asTable(list, [{ ...rows[0], name: evil }], 80), asJson({ evil })])
      for (const char of ["\u001b", "\u009b"]) expect(text).not.toContain(char);
    expect(JSON.parse(asJson({ evil }))).toEqual({ evil });
  });
});
