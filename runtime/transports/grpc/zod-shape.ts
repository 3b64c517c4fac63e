import { z } from "zod";
import type { Scalar } from "./model.ts";

/** The side of a transforming schema that is on the wire: its input or its output. */
export type Direction = "input" | "output";
type Def = z.core.$ZodTypes["_zod"]["def"];

/** A zod schema without its wrappers. */
export interface UnwrappedSchema {
  readonly schema: z.core.$ZodType;
  readonly def: Def;
  readonly optional: boolean;
  readonly nullable: boolean;
  readonly about: string | undefined;
}

const defOf = (schema: z.core.$ZodType): Def => (schema as z.core.$ZodTypes)._zod.def;

/** Removes wrappers such as `optional`, `nullable`, `default`, `readonly` and `pipe`, and records their meaning. */
export function unwrapSchema(schema: z.core.$ZodType, direction: Direction): UnwrappedSchema {
  let optional = false;
  let nullable = false;
  let about: string | undefined;
  let current = schema;
  for (;;) {
    about ??= z.globalRegistry.get(current)?.description;
    const def = defOf(current);
    if (def.type === "optional" || def.type === "default" || def.type === "prefault" || def.type === "catch") optional = true;
    else if (def.type === "nonoptional") optional = false;
    else if (def.type === "nullable") nullable = true;
    const next = inner(def, direction);
    if (!next) return { schema: current, def, optional, nullable, about };
    if (def.type === "union") nullable = true;
    current = next;
  }
}

function inner(def: Def, direction: Direction): z.core.$ZodType | undefined {
  switch (def.type) {
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "catch":
    case "nonoptional":
    case "readonly":
      return def.innerType;
    case "lazy":
      return def.getter();
    case "pipe": {
      const [wire, other] = direction === "input" ? [def.in, def.out] : [def.out, def.in];
      return defOf(wire).type === "transform" ? other : wire;
    }
    case "union": {
      const rest = def.options.filter((option) => defOf(option).type !== "null");
      return rest.length === 1 && rest.length < def.options.length ? rest[0] : undefined;
    }
    default:
      return undefined;
  }
}

/**
 * The id of `.meta({ id })`. A copy created by `.describe()` or `.refine()` is still the same entity; one created by `.extend()`
 * is not.
 */
export function entityName(schema: z.core.$ZodType): string | undefined {
  for (let at: z.core.$ZodType | undefined = schema; at; at = at._zod.parent) {
    const id = z.globalRegistry.get(at)?.id;
    if (id) return id;
  }
  return undefined;
}

/** The protobuf scalar of a schema; `null` if there is none, so that it is sent as free JSON (google.protobuf.Value). */
export function scalarOf(schema: z.core.$ZodType, direction: Direction): Scalar | null {
  const { def, schema: at } = unwrapSchema(schema, direction);
  switch (def.type) {
    case "string":
    case "template_literal":
      return "string";
    case "boolean":
      return "bool";
    case "number":
      return numberOf(at as z.ZodNumber);
    case "enum":
      return "string";
    case "literal":
      return common(def.values.map(scalarOfValue));
    case "union":
      return common(def.options.map((option) => (unwrapSchema(option, direction).nullable ? null : scalarOf(option, direction))));
    default:
      return null;
  }
}

/** A number that fits in 32 bits is an int32, so that clients get no unnecessary 64-bit types. */
function numberOf(schema: z.ZodNumber): Scalar {
  if (!schema.isInt) return "double";
  const within =
    (schema.minValue ?? Number.NEGATIVE_INFINITY) >= -(2 ** 31) && (schema.maxValue ?? Number.POSITIVE_INFINITY) < 2 ** 31;
  return within ? "int32" : "int64";
}

function scalarOfValue(value: unknown): Scalar | null {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (typeof value !== "number") return null;
  return Number.isInteger(value) ? (Math.abs(value) < 2 ** 31 ? "int32" : "int64") : "double";
}

/** One scalar for several alternatives: numbers become the wider type; if one is a string, all become strings. */
function common(scalars: readonly (Scalar | null)[]): Scalar | null {
  const kinds = new Set(scalars);
  if (kinds.has(null)) return null;
  if (kinds.size === 1 || kinds.has("string")) return kinds.has("string") ? "string" : (scalars[0] as Scalar);
  if (kinds.has("bool")) return null;
  return kinds.has("double") ? "double" : "int64";
}
