import { create, createFileRegistry, type DescFile } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  type FieldDescriptorProto,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import type { EnumModel, FieldModel, FieldType, MessageModel, NumberedName, PackageModel, Scalar } from "./model.ts";
import { isProtoOptional, pascal, shortName, zeroValue } from "./model.ts";

const scalars: Record<Scalar, Type> = {
  string: Type.STRING,
  bool: Type.BOOL,
  double: Type.DOUBLE,
  int32: Type.INT32,
  int64: Type.INT64,
};
const struct = file_google_protobuf_struct;

/** The descriptor of a package, the same as a compiler creates from its .proto file. */
export function buildFile(pkg: PackageModel): DescFile {
  const registry = createFileRegistry(fileProto(pkg), (name) => (name === `${struct.name}.proto` ? struct : undefined));
  return registry.getFile(pkg.file) as DescFile;
}

function fileProto(pkg: PackageModel): FileDescriptorProto {
  return create(FileDescriptorProtoSchema, {
    name: pkg.file,
    package: pkg.name,
    syntax: "proto3",
    dependency: usesValue(pkg.messages) ? [`${struct.name}.proto`] : [],
    messageType: pkg.messages.map(messageProto),
    enumType: pkg.enums.map(enumProto),
    service: pkg.services.map(({ name, rpcs }) => ({
      name,
      method: rpcs.map((rpc) => ({
        name: rpc.name,
        inputType: `.${rpc.request.name}`,
        outputType: `.${rpc.response.name}`,
        ...(rpc.op.streaming ? { serverStreaming: true } : {}),
      })),
    })),
  });
}

export const usesValue = (messages: readonly MessageModel[]): boolean =>
  messages.some((message) => message.fields.some((field) => field.type.kind === "value") || usesValue(message.messages));

function messageProto(message: MessageModel): DescriptorProto {
  const optional = message.fields.filter(isProtoOptional);
  const maps = message.fields.filter((field) => field.label === "map");
  return create(DescriptorProtoSchema, {
    name: shortName(message.name),
    field: message.fields.map((field) => fieldProto(message, field, optional.indexOf(field))),
    nestedType: [...message.messages.map(messageProto), ...maps.map(entryProto)],
    enumType: message.enums.map(enumProto),
    oneofDecl: optional.map((field) => ({ name: `_${field.name}` })),
    ...reservedProto(message.reserved, 1),
  });
}

function fieldProto(message: MessageModel, field: FieldModel, oneof: number): FieldDescriptorProto {
  return create(FieldDescriptorProtoSchema, {
    name: field.name,
    jsonName: protoCamelCase(field.name),
    number: field.number,
    label: field.label === "single" ? Label.OPTIONAL : Label.REPEATED,
    ...(field.label === "map"
      ? { type: Type.MESSAGE, typeName: `.${message.name}.${pascal(field.name)}Entry` }
      : typeProto(field.type)),
    ...(oneof < 0 ? {} : { proto3Optional: true, oneofIndex: oneof }),
  });
}

function typeProto(type: FieldType): { type: Type; typeName?: string } {
  if (type.kind === "scalar") return { type: scalars[type.scalar] };
  if (type.kind === "value") return { type: Type.MESSAGE, typeName: ".google.protobuf.Value" };
  return { type: type.kind === "enum" ? Type.ENUM : Type.MESSAGE, typeName: `.${type.name}` };
}

/** A map is a list of entries on the wire. */
function entryProto(field: FieldModel): DescriptorProto {
  return create(DescriptorProtoSchema, {
    name: `${pascal(field.name)}Entry`,
    field: [
      { name: "key", jsonName: "key", number: 1, label: Label.OPTIONAL, type: Type.STRING },
      { name: "value", jsonName: "value", number: 2, label: Label.OPTIONAL, ...typeProto(field.type) },
    ],
    options: { mapEntry: true },
  });
}

function enumProto(model: EnumModel): EnumDescriptorProto {
  return create(EnumDescriptorProtoSchema, {
    name: shortName(model.name),
    value: [{ name: zeroValue(model.name), number: 0 }, ...model.values.map(({ name, number }) => ({ name, number }))],
    ...reservedProto(model.reserved, 0),
  });
}

/** The end of a reserved range is exclusive in messages and inclusive in enums. */
const reservedProto = (reserved: readonly NumberedName[], beyond: 0 | 1) => ({
  reservedName: reserved.map(({ name }) => name),
  reservedRange: reserved.map(({ number }) => ({ start: number, end: number + beyond })),
});
