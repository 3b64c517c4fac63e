import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { type Operation, operation } from "@signalbox/schema/operation";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { buildModel } from "../transports/grpc/build-model.ts";
import { buildFile } from "../transports/grpc/descriptors.ts";
import { type FieldNumbers, lockedNumbers } from "../transports/grpc/field-numbers.ts";
import { project } from "../transports/grpc/projection.ts";
import { operations } from "../transports/grpc/testing/widgets.ts";
import { generateProto } from "./proto.ts";

const empty: FieldNumbers = { messages: {}, enums: {} };
const run = promisify(execFile);
const root = new URL("../../", import.meta.url).pathname;
const buf = (...args: string[]) =>
  run(process.execPath, [join(root, "node_modules/@bufbuild/buf/bin/buf"), ...args], { encoding: "buffer" });

const makeX = (shape: z.ZodRawShape): Operation[] => [
  operation({ id: "x.do", http: "POST /x", rpc: "XService.DoX", summary: "Do x", input: z.object(shape) }),
];
const next = (shape: z.ZodRawShape, lock: FieldNumbers = empty) => {
  const { files, fieldNumbers } = generateProto(makeX(shape), lock);
  return { text: files["api.proto"] ?? "", lock: JSON.parse(fieldNumbers) as FieldNumbers };
};

describe("field numbers", () => {
  const first = next({ a: z.string(), b: z.string(), c: z.enum(["x", "y"]) });

  test("a new field gets the next free number, wherever it is declared", () => {
    const { text, lock } = next({ zero: z.string(), c: z.enum(["w", "y", "x"]), b: z.string(), a: z.string() }, first.lock);
    expect(lock.messages["signalbox.api.v1.DoXRequest"]).toEqual({ a: 1, b: 2, c: 3, zero: 4 });
    expect(lock.enums["signalbox.api.v1.DoXRequest.C"]).toEqual({ C_X: 1, C_Y: 2, C_W: 3 });
    expect(text).toContain("string zero = 4;");
  });
  test("a removed field is reserved, and its number is not given again", () => {
    const removed = next({ b: z.string(), d: z.string(), c: z.enum(["y"]) }, first.lock);
    expect(removed.text).toContain('reserved 1;\n  reserved "a";');
    expect(removed.text).toContain('reserved 1;\n    reserved "C_X";');
    expect(removed.text).toContain("string d = 4;");
    const back = next({ a: z.string(), e: z.string() }, removed.lock);
    expect(back.lock.messages["signalbox.api.v1.DoXRequest"]).toEqual({ a: 1, b: 2, c: 3, d: 4, e: 5 });
    expect(back.text).toContain("string a = 1;");
  });
  test("the file of numbers only grows, and stays the same without changes", () => {
    const again = next({ a: z.string(), b: z.string(), c: z.enum(["x", "y"]) }, first.lock);
    expect(again).toEqual(first);
    expect(next({}, first.lock).lock).toEqual({ ...first.lock, messages: { ...first.lock.messages } });
  });
  test("numbers reserved by protobuf are skipped", () => {
    const lock = { ...empty, messages: { "signalbox.api.v1.DoXRequest": { a: 18_999 } } };
    expect(next({ a: z.string(), b: z.string() }, lock).text).toContain("string b = 20000;");
  });
  test("a field without a number prevents the start", () => {
    expect(() => project(makeX({ a: z.string(), new: z.string() }), first.lock)).toThrow(
      "schema/field-numbers.json: signalbox.api.v1.DoXRequest has no number for new. Run `npm run generate` and commit the result.",
    );
  });
});

describe("the comments", () => {
  const shape = {
    name: z.string().min(1).max(1_000).describe("Name of the x."),
    size: z.int().min(0).max(20).default(5),
    known: z.string().max(9).optional().describe("At most 9 characters."),
    tags: z.array(z.string()).max(3).default([]),
  };
  const { text } = next(shape);

  test("name the limits and the default of a member of a request, unless its description does", () => {
    expect(text).toContain("  // Name of the x. 1 to 1,000 characters.\n  string name = 1;");
    expect(text).toContain("  // Allowed: 0 to 20. Default: 5.\n  optional int32 size = 2;");
    expect(text).toContain("  // At most 9 characters.\n  optional string known = 3;");
    expect(text).toContain("  // At most 3 items.\n  repeated string tags = 4;");
  });
  test("name the statuses of a call, and those that every call can have", () => {
    expect(text).toContain(
      "  // Do x.\n  // Errors: INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED.\n  // HTTP: POST /x\n",
    );
    expect(text).toContain("// RESOURCE_EXHAUSTED and UNAVAILABLE can end every call");
  });
});

describe("the files", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "proto-"));
    await cp(join(root, "schema/gen/buf.yaml"), join(folder, "buf.yaml"));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const write = async (declared: readonly Operation[], lock = empty) => {
    const generated = generateProto(declared, lock);
    for (const [name, text] of Object.entries(generated.files)) await writeFile(join(folder, name), text);
    return JSON.parse(generated.fieldNumbers) as FieldNumbers;
  };

  test("one file for each package that has a service", () => {
    expect(Object.keys(generateProto(operations, empty).files)).toEqual(["api.proto", "gateway.proto"]);
    expect(Object.keys(generateProto(makeX({}), empty).files)).toEqual(["api.proto"]);
  });
  test("pass buf lint, and compile to the server's descriptors", async () => {
    const lock = await write(operations);
    await buf("lint", folder);
    const { stdout } = await buf("build", folder, "-o", "-#format=binpb", "--exclude-source-info");
    const compiled = fromBinary(FileDescriptorSetSchema, stdout).file.filter(({ package: name }) =>
      name.startsWith("signalbox."),
    );
    const ours = buildModel(operations, lockedNumbers(lock)).map((pkg) => buildFile(pkg).proto);
    expect(compiled.map(({ name }) => name).sort()).toEqual(["api.proto", "gateway.proto"]);
    for (const file of compiled) {
      delete file.$unknown;
      const own = ours.find(({ name }) => name === file.name);
      expect(own && fromBinary(FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, own))).toEqual(file);
    }
  });
  test("buf breaking takes a removed field that is reserved, and refuses a changed type", async () => {
    const lock = await write(makeX({ a: z.string(), b: z.string() }));
    const before = join(folder, "before.binpb");
    await buf("build", folder, "-o", before);
    await write(makeX({ b: z.string(), c: z.int() }), lock);
    await buf("breaking", folder, "--against", before);
    await write(makeX({ b: z.int() }), lock);
    await expect(buf("breaking", folder, "--against", before)).rejects.toMatchObject({
      stdout: expect.objectContaining({}),
      code: 100,
    });
  });
});
