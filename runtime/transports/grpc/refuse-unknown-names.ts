import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { fieldProblem } from "@signalbox/schema/problem";
import { readJson } from "../../platform/json.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * Refuses JSON with an unknown name in an optional enum or a list of enums. The parser would ignore it, so that a filter would be
 * left out. For a required enum, it reads as absent, which is refused later. Throws a `Problem` that names the field.
 */
export function refuseUnknownNames(type: DescMessage, bytes: Uint8Array): void {
  const isNeeded = needed.get(type) ?? hasEnum(type);
  needed.set(type, isNeeded);
  const json = isNeeded ? readJson(bytes) : null;
  // The parser refuses what is no JSON.
  if (json && "value" in json) check(type, json.value, "");
}

/** Whether messages of a type are checked. */
const needed = new WeakMap<DescMessage, boolean>();

/** Whether a message, or one inside it, has an enum that is checked. Messages of protobuf itself have none. */
function hasEnum(type: DescMessage, seen = new Set<string>()): boolean {
  if (seen.has(type.typeName)) return false;
  seen.add(type.typeName);
  return type.fields.some((field) => isChecked(field) || (field.message && hasEnum(field.message, seen)));
}

const isChecked = (field: DescField): boolean =>
  field.enum !== undefined && (field.fieldKind !== "enum" || field.proto.proto3Optional);

const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);

function check(type: DescMessage, message: unknown, path: string): void {
  if (!isObject(message) || type.typeName.startsWith("google.protobuf.")) return;
  for (const field of type.fields) {
    const value = Object.hasOwn(message, field.jsonName) ? message[field.jsonName] : message[field.name];
    if (value === undefined || value === null) continue;
    const place = path + field.name;
    for (const [key, item] of itemsOf(field, value)) {
      if (field.message) check(field.message, item, `${place}${key}.`);
      else if (isChecked(field)) checkName(field, item, place + key);
    }
  }
}

/** The values of a field, each with its index or key. */
function itemsOf({ fieldKind }: DescField, value: unknown): [string, unknown][] {
  if (fieldKind === "list") return Array.isArray(value) ? value.map((item, i) => [`[${i}]`, item]) : [];
  if (fieldKind === "map") return isObject(value) ? Object.entries(value).map(([key, item]) => [`.${key}`, item]) : [];
  return [["", value]];
}

function checkName({ enum: names }: DescField, value: unknown, place: string): void {
  if (typeof value !== "string" || !names || names.values.some(({ name }) => name === value)) return;
  const known = names.values.filter(({ number }) => number !== 0).map(({ name, number }) => `${name} = ${number}`);
  throw fieldProblem(place, `must be one of ${known.join(", ")}; it is ${JSON.stringify(value.slice(0, 100))}`);
}
