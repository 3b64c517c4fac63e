import type { parameter, parameterType } from "@signalbox/schema/tools";
import { parameterTypes } from "@signalbox/schema/tools";
import type { z } from "zod";
import { BadParameter, type Parameters } from "./registered-tool.ts";

export type ParameterMap = Readonly<Record<string, z.output<typeof parameter>>>;
type ParameterType = z.output<typeof parameterType>;
type Schema = Readonly<Record<string, unknown>>;

/** The JSON Schema of parameters that a user listed by name. */
export function schemaOf(parameters: ParameterMap | null): Record<string, unknown> {
  if (parameters === null) return { type: "object", properties: {}, additionalProperties: true };
  const properties = Object.entries(parameters).map(([name, { type, description }]) => {
    const items = type === "array" ? { items: {} } : {};
    return [name, { ...(type !== "any" && { type }), ...items, ...(description && { description }) }];
  });
  const required = Object.keys(parameters).filter((name) => parameters[name]?.required);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** The reverse: the members of a JSON Schema by name. Omits everything that a type alone cannot express. */
export function parametersOf(schema: Schema): Record<string, z.output<typeof parameter>> {
  const required = requiredOf(schema);
  return Object.fromEntries(
    Object.entries(propertiesOf(schema)).map(([name, member]) => {
      const about = typeof member.description === "string" ? { description: member.description.slice(0, 2_000) } : {};
      return [name, { type: typeOf(member), required: required.includes(name), ...about }];
    }),
  );
}

/**
 * Checks parameters against the first level of a schema: required ones must exist and have the right type. The provider checks
 * the rest. If null is not allowed, it counts as absent, because models send it.
 */
export function checkParameters(schema: Schema, values: Parameters): Parameters {
  const properties = propertiesOf(schema);
  const checkedParameters: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const member = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!member) {
      if (schema.additionalProperties !== false) put(checkedParameters, name, value);
      continue;
    }
    const types = typesOf(member);
    if (value === undefined || (value === null && types.length > 0 && !types.includes("null"))) continue;
    if (types.length > 0 && !types.some((type) => isOf(type, value)))
      throw new BadParameter(name, `must be ${anyOf(types)}; it is ${withArticle(kindOf(value))}`);
    put(checkedParameters, name, value);
  }
  for (const name of requiredOf(schema)) {
    if (Object.hasOwn(checkedParameters, name)) continue;
    const types = Object.hasOwn(properties, name) ? typesOf(properties[name] as Schema) : [];
    throw new BadParameter(name, types.length > 0 ? `is required; it must be ${anyOf(types)}` : "is required");
  }
  return checkedParameters;
}

/** Works also for a name such as `__proto__`, which an assignment would lose. */
const put = (into: Record<string, unknown>, name: string, value: unknown) =>
  Object.defineProperty(into, name, { value, enumerable: true, configurable: true, writable: true });

const isObject = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);

function propertiesOf(schema: Schema): Record<string, Schema> {
  const properties = isObject(schema.properties) ? schema.properties : {};
  return Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, isObject(member) ? member : {}]));
}

const requiredOf = (schema: Schema): string[] =>
  Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : [];

const typesOf = ({ type }: Schema): string[] =>
  (Array.isArray(type) ? type : [type]).filter((one): one is string => typeof one === "string");

function typeOf(member: Schema): ParameterType {
  const isKnownType = (type: string): type is ParameterType => (parameterTypes as readonly string[]).includes(type);
  const own = typesOf(member).find(isKnownType);
  if (own) return own;
  const choices = [member.anyOf, member.oneOf].find(Array.isArray) as unknown[] | undefined;
  const first = choices?.filter(isObject).flatMap(typesOf).find(isKnownType);
  return first ?? "any";
}

function isOf(type: string, value: unknown): boolean {
  if (type === "integer") return typeof value === "number" && Number.isInteger(value);
  return type === kindOf(value) || !["string", "number", "boolean", "array", "object", "null"].includes(type);
}

const anyOf = (types: readonly string[]): string => types.map(withArticle).join(" or ");
const withArticle = (type: string): string => (type === "null" ? type : `${/^[aeio]/.test(type) ? "an" : "a"} ${type}`);

const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
