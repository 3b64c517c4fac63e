import type { AnySchemaObject } from "ajv/dist/2020.js";
import fc from "fast-check";
import { document } from "../statuses/document.ts";
import { strangeText, strangeValue } from "./strange.ts";

/** Texts that pass: of things that exist, too, so that more than the first check is reached. */
const known = [
  "pm_default",
  "ta_default",
  "triage_initial_intent",
  "alpha",
  "alpha.get_issue",
  "issue.created",
  "postgres",
  "octo/app",
];

/** What a schema of `openapi.json` allows, now and then with something in it that it does not. */
export function from(schema: AnySchemaObject): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: allowed(resolve(schema)), weight: 12 }, { arbitrary: strangeValue, weight: 1 });
}

function resolve(schema: AnySchemaObject): AnySchemaObject {
  if (!schema.$ref) return schema;
  const name = (schema.$ref as string).replace("#/components/schemas/", "");
  return document.components.schemas[name] as AnySchemaObject;
}

function allowed(schema: AnySchemaObject): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]));
  const alternatives = (schema.anyOf ?? schema.oneOf) as AnySchemaObject[] | undefined;
  if (alternatives) return fc.oneof(...alternatives.map(from));
  if (schema.allOf) return fc.tuple(...(schema.allOf as AnySchemaObject[]).map(from)).map((parts) => Object.assign({}, ...parts));
  const types = [schema.type ?? "any"].flat() as string[];
  return fc.oneof(...types.map((type) => ofType(type, schema)));
}

function ofType(type: string, schema: AnySchemaObject): fc.Arbitrary<unknown> {
  const { minimum = -1e9, maximum = 1e9, minItems = 0 } = schema;
  switch (type) {
    case "string":
      return text(schema);
    case "integer":
      return fc.oneof(fc.integer({ min: minimum, max: Math.min(maximum, minimum + 5) }), fc.constantFrom(minimum, maximum));
    case "number":
      return fc.double({ min: minimum, max: maximum, noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(from(schema.items ?? {}), { minLength: minItems, maxLength: minItems + 2 });
    case "object":
      return object(schema);
    default:
      return strangeValue;
  }
}

function object({ properties = {}, required = [], additionalProperties }: AnySchemaObject): fc.Arbitrary<unknown> {
  const members = Object.fromEntries(
    Object.entries(properties as Record<string, AnySchemaObject>).map(([name, schema]) => [name, from(schema)]),
  );
  const own = fc.record(members, { requiredKeys: required as string[] });
  if (typeof additionalProperties !== "object") return own;
  const more = fc.dictionary(
    fc.oneof(fc.constantFrom("event_type", "token", "issue", "a"), strangeText),
    from(additionalProperties),
    {
      maxKeys: 3,
    },
  );
  return fc.tuple(own, more).map(([one, other]) => ({ ...one, ...other }));
}

function text({ pattern, format, maxLength = 200, minLength = 0 }: AnySchemaObject): fc.Arbitrary<string> {
  if (format === "uuid") return fc.uuid();
  if (format === "uri") return fc.constantFrom("http://127.0.0.1:9/x", "https://localhost/y");
  if (format === "date-time")
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString());
  const fitting = known.filter((one) => one.length <= maxLength && (!pattern || new RegExp(pattern).test(one)));
  const free = pattern
    ? fc.stringMatching(new RegExp(pattern))
    : fc.string({ unit: "grapheme", minLength, maxLength: Math.min(maxLength, 60) });
  return fitting.length > 0 ? fc.oneof(free, fc.constantFrom(...fitting)) : free;
}
