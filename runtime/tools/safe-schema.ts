type Schema = Record<string, unknown>;

const types = ["string", "integer", "number", "boolean", "array", "object", "null"];
const counts = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
const bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
/** Parameter names that every LLM accepts. */
const propertyName = /^[A-Za-z0-9_.-]{1,64}$/;
const maxTextLength = 1_000;
const maxDepth = 8;
const maxNodes = 500;

/**
 * A safe JSON Schema of a tool's parameters, created from the schema of a server or a plugin. It contains only keywords that LLMs
 * accept and that are well-formed, and references are replaced by their targets. With one invalid schema, an LLM refuses every
 * request. An omitted keyword only makes the schema accept more, and the server or plugin validates its input itself. Returns
 * `null` if the schema does not describe an object.
 */
export function safeSchema(schema: unknown): Schema | null {
  if (!isObject(schema) || (schema.type !== undefined && schema.type !== "object")) return null;
  const { properties, required, additionalProperties, description } = rebuild(schema, { root: schema, nodes: 0 }, 0);
  return {
    type: "object",
    ...(description !== undefined && { description }),
    properties: properties ?? {},
    ...(required !== undefined && { required }),
    ...(typeof additionalProperties === "boolean" && { additionalProperties }),
  };
}

interface Walk {
  readonly root: Schema;
  nodes: number;
}

const isObject = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);
const isScalar = (value: unknown) => value === null || ["string", "number", "boolean"].includes(typeof value);

function rebuild(schema: unknown, walk: Walk, depth: number): Schema {
  if (!isObject(schema) || depth > maxDepth || ++walk.nodes > maxNodes) return {};
  const at = resolveReference(schema, walk.root);
  return { ...plainKeywords(at), ...objectKeywords(at, walk, depth), ...nestedKeywords(at, walk, depth) };
}

/** Replaces references by their targets within the same schema. */
function resolveReference(schema: Schema, root: Schema): Schema {
  let at = schema;
  for (let hops = 0; hops < maxDepth; hops++) {
    const found = target(at, root);
    if (!isObject(found)) break;
    const { $ref: _, ...own } = at;
    at = { ...found, ...own };
  }
  return at;
}

function target(schema: Schema, root: Schema): unknown {
  if (typeof schema.$ref !== "string" || !schema.$ref.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const part of schema.$ref.slice(2).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at;
}

function plainKeywords(schema: Schema): Schema {
  const result: Schema = {};
  const type = Array.isArray(schema.type) ? [...new Set(schema.type)] : schema.type;
  if (Array.isArray(type) ? type.length > 0 && type.every((one) => types.includes(one)) : types.includes(type as string))
    result.type = type;
  for (const name of ["title", "description"] as const) {
    const text = schema[name];
    if (typeof text === "string" && text !== "") result[name] = text.slice(0, maxTextLength).toWellFormed();
  }
  if (Array.isArray(schema.enum)) {
    const values = [...new Set(schema.enum.filter(isScalar))];
    if (values.length > 0 && values.length === schema.enum.length && values.length <= 500) result.enum = values;
  }
  if ("const" in schema && isScalar(schema.const)) result.const = schema.const;
  if ("default" in schema && isScalar(schema.default)) result.default = schema.default;
  for (const name of counts) if (Number.isInteger(schema[name]) && (schema[name] as number) >= 0) result[name] = schema[name];
  for (const name of bounds) if (Number.isFinite(schema[name])) result[name] = schema[name];
  return result;
}

function objectKeywords(schema: Schema, walk: Walk, depth: number): Schema {
  const result: Schema = {};
  if (isObject(schema.properties)) {
    const members = Object.entries(schema.properties).filter(([name]) => propertyName.test(name) && name !== "__proto__");
    const properties = Object.fromEntries(members.map(([name, member]) => [name, rebuild(member, walk, depth + 1)]));
    result.properties = properties;
    const required = Array.isArray(schema.required)
      ? [...new Set(schema.required.filter((name) => typeof name === "string" && Object.hasOwn(properties, name)))]
      : [];
    if (required.length > 0) result.required = required;
  }
  const more = schema.additionalProperties;
  if (typeof more === "boolean") result.additionalProperties = more;
  else if (isObject(more)) result.additionalProperties = rebuild(more, walk, depth + 1);
  return result;
}

function nestedKeywords(schema: Schema, walk: Walk, depth: number): Schema {
  const result: Schema = {};
  // Some LLMs refuse an array without `items`.
  const isArray = schema.type === "array" || (Array.isArray(schema.type) && schema.type.includes("array"));
  if (isArray || isObject(schema.items)) result.items = rebuild(schema.items, walk, depth + 1);
  for (const name of ["anyOf", "oneOf", "allOf"] as const) {
    const choices = schema[name];
    if (Array.isArray(choices) && choices.length > 0 && choices.length <= 50 && choices.every(isObject))
      result[name] = choices.map((choice) => rebuild(choice, walk, depth + 1));
  }
  return result;
}
