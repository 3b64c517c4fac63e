import { z } from "zod";
import { messageOf } from "../../platform/error-text.ts";
import { Refusal } from "../admit.ts";

/**
 * Keywords that do not describe the kind of a value. Only the plugin checks patterns, because a slow one would block the host.
 */
const omittedKeywords = new Set([
  "pattern",
  "patternProperties",
  "$schema",
  "$id",
  "title",
  "description",
  "examples",
  "format",
  "contentEncoding",
]);
const maxBytes = 64 * 1024;

/** The schema with which the host checks a source's settings: kinds, choices and defaults. Throws a `Refusal`. */
export function connectionSchema(schema: Readonly<Record<string, unknown>>): z.ZodObject {
  const text = JSON.stringify(schema);
  if (text.length > maxBytes)
    throw new Refusal("BAD_CONTRIBUTION", `The schema of the settings is longer than ${maxBytes} characters.`);
  if (text.includes('"$ref"') || text.includes('"$dynamicRef"'))
    throw new Refusal("BAD_CONTRIBUTION", "The schema of the settings refers to itself; write its members out.");
  try {
    const { properties = {}, required = [] } = withoutOmitted(schema) as {
      properties?: Record<string, object>;
      required?: string[];
    };
    const members = Object.entries(properties).map(([name, member]) => {
      const one = z.fromJSONSchema(member as never);
      return [name, required.includes(name) || "default" in member ? one : one.optional()];
    });
    return z.object(Object.fromEntries(members));
  } catch (error) {
    throw new Refusal("BAD_CONTRIBUTION", `The schema of the settings cannot be read: ${messageOf(error)}`);
  }
}

/** Removes the omitted keywords. Members of `properties` are names, not keywords. */
function withoutOmitted(schema: unknown, names = false): unknown {
  if (Array.isArray(schema)) return schema.map((one) => withoutOmitted(one));
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).filter(([key]) => names || !omittedKeywords.has(key));
  return Object.fromEntries(
    entries.map(([key, value]) => [
      key,
      ["default", "const", "enum"].includes(key) && !names ? value : withoutOmitted(value, key === "properties" && !names),
    ]),
  );
}
