import type { Operation } from "@signalbox/schema/operation";
import type { z } from "zod";
import { buildModel } from "../transports/grpc/build-model.ts";
import { usesValue } from "../transports/grpc/descriptors.ts";
import { type FieldNumbers, fieldNumbers, growingNumbers } from "../transports/grpc/field-numbers.ts";
import type { EnumModel, FieldModel, FieldType, MessageModel, NumberedName, PackageModel } from "../transports/grpc/model.ts";
import { isProtoOptional, shortName, zeroValue } from "../transports/grpc/model.ts";
import { memberComment, rpcComment, serviceComment } from "./proto-comments.ts";

interface GeneratedProto {
  /** File name below `schema/gen` → text. Only packages with a service. */
  readonly files: Readonly<Record<string, string>>;
  /** The new text of `schema/field-numbers.json`. */
  readonly fieldNumbers: string;
}

/** Prints the operations as .proto files. New fields get the next free number; an assigned number never changes. */
export function generateProto(operations: readonly Operation[], lock: FieldNumbers = fieldNumbers): GeneratedProto {
  const numbers = growingNumbers(lock);
  const packages = buildModel(operations, numbers);
  return {
    files: Object.fromEntries(packages.map((pkg) => [pkg.file, printPackage(pkg)])),
    fieldNumbers: `${JSON.stringify(numbers.allNumbers(), null, 2)}\n`,
  };
}

function printPackage(pkg: PackageModel): string {
  const type = typePrinter(pkg);
  const inputs = new Map(pkg.services.flatMap(({ rpcs }) => rpcs.map(({ op, request }) => [request.name, op.input.shape])));
  const blocks = [
    `// Generated from the operations in schema/ by \`npm run generate\`. Do not edit.\n//\n${comment(serviceComment)}`,
    'syntax = "proto3";\n',
    `package ${pkg.name};\n`,
    ...(usesValue(pkg.messages) ? ['import "google/protobuf/struct.proto";\n'] : []),
    ...pkg.services.map((service) => {
      const rpcs = service.rpcs.map(({ name, op, request, response }) => {
        const output = `${op.streaming ? "stream " : ""}${shortName(response.name)}`;
        return `${comment(rpcComment(op))}rpc ${name}(${shortName(request.name)}) returns (${output});\n`;
      });
      return block(`service ${service.name}`, rpcs);
    }),
    ...pkg.messages.map((message) => printMessage(message, type, inputs.get(message.name))),
    ...pkg.enums.map(printEnum),
  ];
  return blocks.join("\n");
}

type TypePrinter = (type: FieldType) => string;

/** `input`: members of the operation whose request the message is. */
function printMessage(message: MessageModel, type: TypePrinter, input: Readonly<Record<string, z.core.$ZodType>> = {}): string {
  const reserved = printReserved(message.reserved);
  const nested = [...message.enums.map(printEnum), ...message.messages.map((inner) => printMessage(inner, type))];
  const fields = message.fields.map((field) =>
    printField({ ...field, about: memberComment(field.about, input[field.name]) }, type),
  );
  return comment(message.about) + block(`message ${shortName(message.name)}`, [...reserved, ...nested, ...fields]);
}

function printField(field: FieldModel, type: TypePrinter): string {
  const name = type(field.type);
  const kind =
    field.label === "list"
      ? `repeated ${name}`
      : field.label === "map"
        ? `map<string, ${name}>`
        : isProtoOptional(field)
          ? `optional ${name}`
          : name;
  return `${comment(field.about)}${kind} ${field.name} = ${field.number};\n`;
}

function printEnum(model: EnumModel): string {
  const values = [{ name: zeroValue(model.name), number: 0 }, ...model.values].map(
    ({ name, number }) => `${name} = ${number};\n`,
  );
  return comment(model.about) + block(`enum ${shortName(model.name)}`, [...printReserved(model.reserved), ...values]);
}

function printReserved(reserved: readonly NumberedName[]): string[] {
  if (reserved.length === 0) return [];
  return [
    `reserved ${reserved.map(({ number }) => number).join(", ")};\n`,
    `reserved ${reserved.map(({ name }) => JSON.stringify(name)).join(", ")};\n`,
  ];
}

const block = (head: string, parts: readonly string[]): string =>
  parts.length === 0 ? `${head} {}\n` : `${head} {\n${parts.map(indent).join("")}}\n`;

const indent = (text: string): string => text.replace(/^(?=.)/gm, "  ");

const comment = (about: string | undefined): string =>
  about
    ? `${about
        .trim()
        .split(/\r?\n/)
        .map((line) => `// ${line}`.trimEnd())
        .join("\n")}\n`
    : "";

/** Names are relative to the package, unless a nested type has the same name. */
function typePrinter(pkg: PackageModel): TypePrinter {
  const nestedNames = new Set<string>();
  const visit = (message: MessageModel) => {
    for (const inner of [...message.messages, ...message.enums]) nestedNames.add(shortName(inner.name));
    message.messages.forEach(visit);
  };
  pkg.messages.forEach(visit);
  return (type) => {
    if (type.kind === "scalar") return type.scalar;
    if (type.kind === "value") return "google.protobuf.Value";
    const relative = type.name.slice(pkg.name.length + 1);
    return nestedNames.has(relative.split(".")[0] as string) ? `.${type.name}` : relative;
  };
}
