import { create, type DescFile, type DescMessage, type Message } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { Fault } from "./fault.ts";
import { fromValue, setOwnProperty, toValue } from "./json-value.ts";
import type { EnumModel, FieldModel, FieldType, MessageModel, PackageModel } from "./model.ts";

export type PlainObject = Record<string, unknown>;
type Fields = Record<string, unknown>;
interface Element {
  /** Converts a wire value to the input of zod; `undefined` if the member is absent. */
  read(wire: unknown): unknown;
  /** Converts the output of zod to a wire value. */
  write(plain: unknown): unknown;
}
export interface Codec {
  read(message: Message): PlainObject;
  write(plain: PlainObject): Message;
}

/** The codecs of a package's messages, by full name. Members keep the names of the zod schemas. */
export function createCodecs(pkg: PackageModel, file: DescFile): ReadonlyMap<string, Codec> {
  const codecs = new Map<string, Codec>();
  const enums = new Map<string, EnumModel>(pkg.enums.map((model) => [model.name, model]));
  const visit = (model: MessageModel, desc: DescMessage) => {
    for (const nested of model.enums) enums.set(nested.name, nested);
    for (const nested of model.messages)
      visit(nested, desc.nestedMessages.find((other) => other.typeName === nested.name) as DescMessage);
    codecs.set(model.name, messageCodec(model, desc, codecs, enums));
  };
  for (const model of pkg.messages) visit(model, file.messages.find((other) => other.typeName === model.name) as DescMessage);
  return codecs;
}

/** Resolves its references at its first use, because a message may refer to itself and to later ones. */
function messageCodec(
  model: MessageModel,
  desc: DescMessage,
  codecs: ReadonlyMap<string, Codec>,
  enums: ReadonlyMap<string, EnumModel>,
): Codec {
  const prepare = () =>
    model.fields.map((field) => ({
      name: field.name,
      absentIsNull: field.nullable && !field.optional,
      local: desc.field[field.name]?.localName ?? (desc.fields.find((other) => other.name === field.name)?.localName as string),
      ...fieldCodec(field, elementCodec(field.type, codecs, enums)),
    }));
  let codec: ReturnType<typeof prepare> | undefined;
  return {
    read(message) {
      codec ??= prepare();
      const plain: PlainObject = {};
      for (const { name, local, absentIsNull, read } of codec) {
        const wire = (message as unknown as Fields)[local];
        if (wire === undefined) {
          if (absentIsNull) plain[name] = null;
          continue;
        }
        const value = Fault.at(name, () => read(wire));
        if (value !== undefined) plain[name] = value;
      }
      return plain;
    },
    write(plain) {
      codec ??= prepare();
      const message = create(desc);
      for (const { name, local, write } of codec) {
        const value = plain[name];
        const wire = value === undefined ? undefined : write(value);
        if (wire !== undefined) (message as unknown as Fields)[local] = wire;
      }
      return message;
    },
  };
}

function fieldCodec({ label, optional, type, nullable }: FieldModel, element: Element): Element {
  if (label === "list")
    return {
      read: (wire) => {
        const items = wire as unknown[];
        return optional && items.length === 0 ? undefined : items.map((item, i) => Fault.at(i, () => element.read(item)));
      },
      write: (plain) => (plain === null ? undefined : (plain as unknown[]).map(element.write)),
    };
  if (label === "map") return mapCodec(optional, element);
  // In free JSON, null is a separate value, unless the schema defines null and absent as the same.
  const nullIsValue = type.kind === "value" && !nullable;
  return { read: element.read, write: (plain) => (plain === null && !nullIsValue ? undefined : element.write(plain)) };
}

const mapCodec = (optional: boolean, element: Element): Element => ({
  read: (wire) => {
    const entries = Object.entries(wire as Fields);
    if (optional && entries.length === 0) return undefined;
    return Object.fromEntries(entries.map(([key, item]) => [key, Fault.at(key, () => element.read(item))]));
  },
  write: (plain) => {
    if (plain === null) return undefined;
    const map = {};
    for (const [key, item] of Object.entries(plain as Fields))
      if (item !== undefined) setOwnProperty(map, key, element.write(item));
    return map;
  },
});

function elementCodec(type: FieldType, codecs: ReadonlyMap<string, Codec>, enums: ReadonlyMap<string, EnumModel>): Element {
  switch (type.kind) {
    case "value":
      return { read: (wire) => fromValue(wire as Value), write: toValue };
    case "enum":
      return enumCodec(enums.get(type.name) as EnumModel);
    case "message": {
      const codec = codecs.get(type.name) as Codec;
      return { read: (wire) => codec.read(wire as Message), write: (plain) => codec.write(plain as PlainObject) };
    }
    case "scalar":
      if (type.scalar === "int64") return int64;
      return { read: (wire) => wire, write: type.scalar === "string" ? String : (plain) => plain };
  }
}

const int64: Element = {
  read(wire) {
    const number = Number(wire);
    if (!Number.isSafeInteger(number)) throw new Fault("must be within ±9007199254740991 (2^53 - 1)");
    return number;
  },
  write: (plain) => BigInt(plain as number),
};

function enumCodec({ values }: EnumModel): Element {
  const texts = new Map(values.map(({ number, text }) => [number, text]));
  const numbers = new Map(values.map(({ number, text }) => [text, number]));
  return {
    read(wire) {
      if (wire === 0) return undefined;
      const text = texts.get(wire as number);
      if (text === undefined)
        throw new Fault(`must be one of ${values.map(({ name, number }) => `${name} = ${number}`).join(", ")}; it is ${wire}`);
      return text;
    },
    write: (plain) => numbers.get(plain as string),
  };
}
