import type { z } from "zod";
import type { Numbers } from "./field-numbers.ts";
import type { EnumModel, FieldModel, FieldType, MessageModel } from "./model.ts";
import { pascal, shortName, upperSnake, zeroValue } from "./model.ts";
import { type Direction, entityName, scalarOf, type UnwrappedSchema, unwrapSchema } from "./zod-shape.ts";

type Unnumbered = Omit<FieldModel, "number">;
type Typed = Pick<FieldModel, "type" | "label">;
/** The place of a type without its own name: inside its message, named after the member. */
interface Scope {
  readonly name: string;
  readonly direction: Direction;
  readonly messages: MessageModel[];
  readonly enums: EnumModel[];
}

/** Collects the messages and enums of one package. */
export class Messages {
  readonly #pkg: string;
  readonly #numbers: Numbers;
  readonly #messages = new Map<string, MessageModel>();
  readonly #enums = new Map<string, EnumModel>();
  /** Entities that are being read: a reference to one of them is a recursion. */
  readonly #open = new Set<string>();
  readonly #done = { input: new Map<object, string>(), output: new Map<object, string>() };

  constructor(pkg: string, numbers: Numbers) {
    this.#pkg = pkg;
    this.#numbers = numbers;
  }

  object(name: string, schema: z.core.$ZodType, direction: Direction, about: string, where: string): MessageModel {
    return put(
      this.#messages,
      this.#message(`${this.#pkg}.${name}`, unwrapSchema(schema, direction), direction, about, where),
      where,
    );
  }

  /** A message with one field, for an output that is a named entity, a list or a scalar. */
  wrapper(name: string, member: string, schema: z.core.$ZodType, about: string, where: string): MessageModel {
    const scope: Scope = { name: `${this.#pkg}.${name}`, direction: "output", messages: [], enums: [] };
    return put(this.#messages, this.#numbered(scope, about, [this.#field(member, schema, scope, where)]), where);
  }

  extend(message: MessageModel, more: Unnumbered): MessageModel {
    if (message.fields.some((field) => field.name === more.name))
      throw new Error(`${message.name}.${more.name}: this name is taken by the gRPC projection`);
    const scope: Scope = { name: message.name, direction: "input", messages: [...message.messages], enums: [...message.enums] };
    const extended = this.#numbered(scope, message.about, [...message.fields, more]);
    this.#messages.set(message.name, extended);
    return extended;
  }

  all(): { messages: MessageModel[]; enums: EnumModel[] } {
    return { messages: [...this.#messages.values()], enums: [...this.#enums.values()] };
  }

  #numbered(scope: Scope, about: string | undefined, fields: readonly Unnumbered[]): MessageModel {
    const numbers = this.#numbers.of(
      "messages",
      scope.name,
      fields.map((field) => field.name),
    );
    return {
      name: scope.name,
      about,
      fields: fields.map((field, i) => ({ ...field, number: numbers.numberedNames[i]?.number as number })),
      messages: scope.messages,
      enums: scope.enums,
      reserved: numbers.reserved,
    };
  }

  #message(name: string, of: UnwrappedSchema, direction: Direction, about: string | undefined, where: string): MessageModel {
    if (of.def.type !== "object") throw new Error(`${where}: must be a z.object, not "${of.def.type}"`);
    const scope: Scope = { name, direction, messages: [], enums: [] };
    return this.#numbered(
      scope,
      about,
      Object.entries(of.def.shape).map(([key, member]) => this.#field(key, member, scope, `${where}.${key}`)),
    );
  }

  #field(name: string, schema: z.core.$ZodType, scope: Scope, where: string): Unnumbered {
    if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)) throw new Error(`${where}: must be snake_case to be a protobuf field`);
    const of = unwrapSchema(schema, scope.direction);
    return {
      name,
      about: of.about,
      presence: of.optional || of.nullable,
      nullable: of.nullable,
      optional: of.optional,
      ...this.#typed(name, of, scope, where),
    };
  }

  #typed(name: string, of: UnwrappedSchema, scope: Scope, where: string): Typed {
    if (of.def.type === "array") return { label: "list", type: this.#element(name, of.def.element, scope, where) };
    if (of.def.type === "record") return { label: "map", type: this.#element(name, of.def.valueType, scope, where) };
    return { label: "single", type: this.#single(name, of, scope, where) };
  }

  /** An element that may be null or is a list itself cannot be in a repeated field, so it is sent as free JSON. */
  #element(name: string, schema: z.core.$ZodType, scope: Scope, where: string): FieldType {
    const of = unwrapSchema(schema, scope.direction);
    const plain = !of.optional && !of.nullable && of.def.type !== "array" && of.def.type !== "record";
    return plain ? this.#single(name, of, scope, `${where}[]`) : { kind: "value" };
  }

  #single(name: string, of: UnwrappedSchema, scope: Scope, where: string): FieldType {
    switch (of.def.type) {
      case "enum":
        return { kind: "enum", name: this.#enumeration(name, of, scope, where) };
      case "object":
        return of.def.catchall && unwrapSchema(of.def.catchall, scope.direction).def.type !== "never"
          ? { kind: "value" }
          : { kind: "message", name: this.#nested(name, of, scope, where) };
      case "string":
      case "template_literal":
      case "boolean":
      case "number":
      case "literal":
      case "union": {
        const scalar = scalarOf(of.schema, scope.direction);
        return scalar ? { kind: "scalar", scalar } : { kind: "value" };
      }
      case "unknown":
      case "any":
      case "null":
      case "tuple":
      case "array":
      case "record":
      case "intersection":
        return { kind: "value" };
      default:
        throw new Error(`${where}: zod "${of.def.type}" has no protobuf type; use what JSON can carry`);
    }
  }

  #nested(member: string, of: UnwrappedSchema, scope: Scope, where: string): string {
    const entity = entityName(of.schema);
    const name = entity ? `${this.#pkg}.${entity}` : `${scope.name}.${pascal(member)}`;
    if (!entity) {
      if (this.#open.has(name) || name.length > 500)
        throw new Error(`${where}: a schema that contains itself needs .meta({ id })`);
      scope.messages.push(this.#message(name, of, scope.direction, undefined, where));
    } else if (this.#done[scope.direction].get(of.def) !== name && !this.#open.has(name)) {
      this.#open.add(name);
      put(this.#messages, this.#message(name, of, scope.direction, of.about, entity), where);
      this.#open.delete(name);
      this.#done[scope.direction].set(of.def, name);
    }
    return name;
  }

  #enumeration(member: string, of: UnwrappedSchema, scope: Scope, where: string): string {
    if (of.def.type !== "enum") throw new Error(`${where}: is not an enum`);
    const texts = Object.values(of.def.entries);
    if (!texts.every((text) => typeof text === "string")) throw new Error(`${where}: the values of an enum must be strings`);
    const entity = entityName(of.schema);
    const name = entity ? `${this.#pkg}.${entity}` : `${scope.name}.${pascal(member)}`;
    const prefix = upperSnake(shortName(name));
    const names = texts.map((text) => `${prefix}_${upperSnake(text)}`);
    if (new Set([...names, zeroValue(name)]).size <= names.length)
      throw new Error(`${where}: enum values collide as ${names.join(", ")}`);
    const numbers = this.#numbers.of("enums", name, names);
    const values = numbers.numberedNames.map((value, i) => ({ ...value, text: texts[i] as string }));
    const model: EnumModel = { name, about: entity ? of.about : undefined, values, reserved: numbers.reserved };
    if (entity) put(this.#enums, model, where);
    else scope.enums.push(model);
    return name;
  }
}

/** Two schemas with the same id must result in the same type. */
function put<T extends { readonly name: string; readonly about: string | undefined }>(
  all: Map<string, T>,
  model: T,
  where: string,
): T {
  const known = all.get(model.name);
  const same = (one: T, other: T) => JSON.stringify({ ...one, about: "" }) === JSON.stringify({ ...other, about: "" });
  if (known && !same(known, model)) throw new Error(`${where}: two different schemas are named ${model.name}`);
  if (!known) all.set(model.name, model);
  return model;
}
