import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { operation } from "@signalbox/schema/operation";
import { Problem } from "@signalbox/schema/problem";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { generateProto } from "../../generate/proto.ts";
import type { FieldNumbers } from "./field-numbers.ts";
import { project } from "./projection.ts";

const empty: FieldNumbers = { messages: {}, enums: {} };

/** An example operation with the same members in input and output, and their conversion to the wire and back. */
function oneOf(shape: z.ZodRawShape, http: "POST /x" | "PUT /x" = "POST /x") {
  const io = z.object(shape);
  const op = operation({ id: "x.do", http, rpc: "XService.DoX", summary: "Do x.", input: io, output: io });
  const [service] = project([op], JSON.parse(generateProto([op], empty).fieldNumbers));
  const rpc = service?.rpcs[0];
  const method = service?.desc.methods[0];
  if (!rpc || !method) throw new Error("the operation was not projected");
  /** Response bytes read as a request: both have the same fields with the same numbers. */
  const trip = (output: unknown) => rpc.read(fromBinary(method.input, toBinary(method.output, rpc.write(output))));
  const receive = (json: object) => rpc.read(Object.assign(fromBinary(method.input, new Uint8Array()), json) as Message);
  return { trip, receive, type: (field: string) => method.output.fields.find(({ name }) => name === field)?.toString() };
}

describe("values over the wire", () => {
  test("numbers beyond 32 bits stay JS numbers", () => {
    const { trip } = oneOf({ big: z.int(), small: z.int32() });
    expect(trip({ big: 2 ** 53 - 1, small: -(2 ** 31) })).toEqual({ big: 2 ** 53 - 1, small: -(2 ** 31) });
  });
  test("an int64 that JS cannot count is refused by name", () => {
    const { receive } = oneOf({ big: z.int() });
    expect(() => receive({ big: 2n ** 53n })).toThrow(expect.objectContaining({ code: "bad_request", field: "big" }));
  });
  test("absent, null and empty", () => {
    const { trip } = oneOf({
      a: z.string().optional(),
      b: z.string().nullish(),
      c: z.string().nullable(),
      d: z.int().default(3),
      e: z.array(z.string()),
      f: z.unknown(),
    });
    expect(trip({ a: undefined, b: null, c: null, d: undefined, e: [], f: null })).toEqual({ c: null, e: [], f: null });
    expect(trip({ a: "", b: "", c: "", d: 0, e: [""], f: { a: [1, null, { b: "c" }] } })).toEqual({
      a: "",
      b: "",
      c: "",
      d: 0,
      e: [""],
      f: { a: [1, null, { b: "c" }] },
    });
  });
  test("enums keep their zod values; zero is absent, an unknown number is refused with the known ones", () => {
    const { trip, receive } = oneOf({ state: z.enum(["dry_run", "light-blue", "issue.created"]) });
    expect(trip({ state: "light-blue" })).toEqual({ state: "light-blue" });
    expect(receive({ state: 0 })).toEqual({});
    expect(() => receive({ state: 9 })).toThrow(
      /state: must be one of STATE_DRY_RUN = 1, STATE_LIGHT_BLUE = 2, STATE_ISSUE_CREATED = 3; it is 9/,
    );
  });
  test("a fault deep inside names its path", () => {
    const { receive } = oneOf({ rows: z.array(z.object({ by: z.record(z.string(), z.object({ n: z.int() })) })) });
    const rows = [{ by: {} }, { by: { key: { n: 2n ** 60n } } }];
    expect(() => receive({ rows })).toThrow(expect.objectContaining({ field: "rows[1].by.key.n" }));
  });
  test("free JSON refuses what JSON cannot say", () => {
    const { receive } = oneOf({ any: z.unknown() });
    expect(() => receive({ any: { kind: { case: "numberValue", value: Number.NaN } } })).toThrow(Problem);
    expect(() => receive({ any: { kind: { case: undefined } } })).toThrow(
      /any: must set one of the kinds of google.protobuf.Value/,
    );
  });
  test("an update clears what clear_fields names, and nothing else", () => {
    const { receive } = oneOf(
      {
        note: z.string().nullish(),
        tags: z.array(z.string()).optional(),
        by: z.record(z.string(), z.string()).optional(),
        name: z.string().optional(),
      },
      "PUT /x",
    );
    expect(receive({ name: "n" })).toEqual({ name: "n" });
    expect(receive({ clearFields: ["note", "tags", "by"] })).toEqual({ note: null, tags: [], by: {} });
    expect(() => receive({ clearFields: ["name"] })).toThrow(
      /clear_fields\[0\]: "name" is not a member that can be cleared; these can: note, tags, by/,
    );
    expect(() => receive({ note: "x", clearFields: ["note"] })).toThrow(/also set/);
  });
});

describe("types", () => {
  test.each([
    ["plain int", z.int(), "int64"],
    ["bounded int", z.int().min(1).max(2_147_483_647), "int32"],
    ["number().int()", z.number().int().min(0), "int64"],
    ["number", z.number().min(0).max(1), "double"],
    ["trimmed", z.string().trim().min(1), "string"],
    ["string or number", z.union([z.string(), z.number()]), "string"],
    ["literal", z.literal("a"), "string"],
    ["transformed on the way in", z.string().transform(Number), "string"],
  ])("%s", (_, schema, type) => {
    const op = operation({ id: "x.do", http: "POST /x", rpc: "XService.DoX", summary: "Do x.", input: z.object({ a: schema }) });
    expect(generateProto([op], empty).files["api.proto"]).toContain(`  ${type} a = 1;`);
  });
  test("an object that two operations share is one message", () => {
    const shared = z.object({ id: z.string() }).meta({ id: "Shared" });
    const declare = (name: string, output: z.ZodType) =>
      operation({ id: `x.${name}`, http: "POST /x", rpc: `XService.${name}`, summary: "Do x.", output });
    const text =
      generateProto([declare("One", shared), declare("Two", shared.describe("the same"))], empty).files["api.proto"] ?? "";
    expect(text.match(/^message Shared /gm)).toHaveLength(1);
    const [one, two] = [z.object({ id: z.string() }).meta({ id: "Twice" }), z.object({ id: z.int() }).meta({ id: "Twice" })];
    expect(() => generateProto([declare("One", one), declare("Two", two)], empty)).toThrow(
      /two different schemas are named signalbox.api.v1.Twice/,
    );
  });
  test("values that protobuf cannot carry are refused with their path", () => {
    const declare = (a: z.ZodType) =>
      operation({ id: "x.do", http: "POST /x", rpc: "XService.DoX", summary: "Do x.", input: z.object({ a }) });
    expect(() => generateProto([declare(z.date())], empty)).toThrow(/x\.do\.a: zod "date" has no protobuf type/);
    expect(() => generateProto([declare(z.enum(["a b", "a-b"]))], empty)).toThrow(/x\.do\.a: enum values collide/);
    expect(() => generateProto([declare(z.object({ camelCase: z.string() }))], empty)).toThrow(
      /x\.do\.a\.camelCase: must be snake_case/,
    );
  });
});

/** A random schema with its values, and the expected value after conversion to the wire and back. */
interface Sample {
  readonly schema: z.ZodType;
  readonly value: fc.Arbitrary<unknown>;
  readonly arrives: (value: unknown) => unknown;
}
const same = (value: unknown) => value;
const leaf = (schema: z.ZodType, value: fc.Arbitrary<unknown>): Sample => ({ schema, value, arrives: same });
const text = fc.string({ unit: "binary", maxLength: 20 }).filter((value) => value !== "-0");
const key = text.filter((name) => name !== "__proto__");
const leaves = fc.constantFrom(
  leaf(z.string(), text),
  leaf(z.int(), fc.maxSafeInteger()),
  leaf(z.int32(), fc.integer()),
  leaf(z.number(), fc.double({ noNaN: true, noDefaultInfinity: true })),
  leaf(z.boolean(), fc.boolean()),
  leaf(z.enum(["a", "b-c", "d.e"]), fc.constantFrom("a", "b-c", "d.e")),
  // `inJson` writes -0 as the text "-0".
  leaf(
    z.unknown(),
    fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('"-0"')),
  ),
);
const names = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9]{0,3}(_[a-z][a-z0-9]{0,3})?$/), {
  minLength: 1,
  maxLength: 5,
  selector: (name) => name.replace(/_/g, ""),
});

const objectOf = (members: [string, Sample][]): Sample => ({
  schema: z.object(Object.fromEntries(members.map(([name, { schema }]) => [name, schema]))),
  value: fc.record(Object.fromEntries(members.map(([name, { value }]) => [name, value]))),
  arrives: (value) =>
    Object.fromEntries(
      members
        .map(([name, { arrives }]) => [name, arrives((value as Record<string, unknown>)[name])])
        .filter(([, member]) => member !== undefined),
    ),
});
/** Free JSON loses only undefined members. Elements that are lists, maps or null are sent as free JSON. */
const inJson = (value: unknown): unknown =>
  value === undefined
    ? undefined
    : JSON.parse(
        JSON.stringify(value, (_, item) => (Object.is(item, -0) ? "-0" : item)),
        (_, item) => (item === "-0" ? -0 : item),
      );
const asElement = ({ schema, arrives }: Sample) => (/array|record|nullable/.test(schema.type) ? inJson : arrives);
const listOf = (item: Sample): Sample => ({
  schema: z.array(item.schema),
  value: fc.array(item.value, { maxLength: 4 }),
  arrives: (list) => (list as unknown[]).map(asElement(item)),
});
const recordOf = (item: Sample): Sample => ({
  schema: z.record(z.string(), item.schema),
  value: fc.dictionary(key, item.value, { maxKeys: 4 }),
  arrives: (record) =>
    Object.fromEntries(Object.entries(record as object).map(([name, value]) => [name, asElement(item)(value)])),
});
const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;
/** An empty list or map of an optional member becomes absent; free JSON keeps its null. */
const optional = ({ schema, value, arrives }: Sample): Sample => ({
  schema: schema.optional(),
  value: fc.option(value, { nil: undefined }),
  arrives: (given) => (given === undefined || (/array|record/.test(schema.type) && isEmpty(given)) ? undefined : arrives(given)),
});
const nullable = ({ schema, value, arrives }: Sample): Sample => ({
  schema: schema.nullable(),
  value: fc.option(value),
  arrives: (given) => (given !== null ? arrives(given) : schema.type === "array" ? [] : schema.type === "record" ? {} : null),
});

const samples = fc.letrec<{ any: Sample; element: Sample; object: Sample; member: Sample }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaves,
    tie("object"),
    tie("element").map(listOf),
    tie("element").map(recordOf),
  ),
  element: fc.oneof(tie("any"), tie("any").map(nullable)),
  member: fc.oneof(tie("any"), tie("any").map(optional), tie("any").map(nullable)),
  object: names.chain((all) => fc.tuple(...all.map((name) => fc.tuple(fc.constant(name), tie("member"))))).map(objectOf),
}));

test("random values of random schemas survive the round trip", () => {
  fc.assert(
    fc.property(
      samples.object.chain((sample) => fc.tuple(fc.constant(sample), fc.array(sample.value, { minLength: 1, maxLength: 5 }))),
      ([sample, values]) => {
        const shape = (sample.schema as z.ZodObject).shape;
        const { trip } = oneOf(shape);
        for (const value of values) expect(trip(value)).toEqual(sample.arrives(value));
      },
    ),
    { numRuns: 300 },
  );
});
