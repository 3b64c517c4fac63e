import { create } from "@bufbuild/protobuf";
import { ListValueSchema, NullValue, StructSchema, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Fault } from "./fault.ts";

/**
 * google.protobuf.Value → JSON. Throws a `Fault` for values that JSON cannot express: NaN, infinities, a Value without a kind.
 */
export function fromValue({ kind }: Value): unknown {
  switch (kind.case) {
    case "nullValue":
      return null;
    case "stringValue":
    case "boolValue":
      return kind.value;
    case "numberValue":
      if (!Number.isFinite(kind.value)) throw new Fault("must be a finite number");
      return kind.value;
    case "listValue":
      return kind.value.values.map((item, i) => Fault.at(i, () => fromValue(item)));
    case "structValue":
      return Object.fromEntries(
        Object.entries(kind.value.fields).map(([key, item]) => [key, Fault.at(key, () => fromValue(item))]),
      );
    default:
      throw new Fault("must set one of the kinds of google.protobuf.Value; for null, set null_value");
  }
}

/** JSON → google.protobuf.Value, with the rules of `JSON.stringify`: undefined members are omitted, dates become text. */
export function toValue(json: unknown): Value {
  return create(ValueSchema, { kind: kindOf(json) });
}

function kindOf(json: unknown): Value["kind"] {
  switch (typeof json) {
    case "string":
      return { case: "stringValue", value: json };
    case "boolean":
      return { case: "boolValue", value: json };
    case "number":
      return Number.isFinite(json) ? { case: "numberValue", value: json } : nullKind;
    case "bigint":
      throw new TypeError("JSON has no place for a bigint");
    case "object":
      return json === null ? nullKind : kindOfObject(json);
    default:
      return nullKind;
  }
}

function kindOfObject(json: object): Value["kind"] {
  if ("toJSON" in json && typeof json.toJSON === "function") return kindOf(json.toJSON());
  if (Array.isArray(json)) return { case: "listValue", value: create(ListValueSchema, { values: json.map(toValue) }) };
  const entries = Object.entries(json).filter(([, item]) => item !== undefined && typeof item !== "function");
  const struct = create(StructSchema);
  for (const [key, item] of entries) setOwnProperty(struct.fields, key, toValue(item));
  return { case: "structValue", value: struct };
}

const nullKind: Value["kind"] = { case: "nullValue", value: NullValue.NULL_VALUE };

/** A member named `__proto__` is an ordinary member. */
export function setOwnProperty(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
