/** The part of an OpenAPI document from which types are generated. */
interface Document {
  readonly paths?: object | undefined;
  readonly components?: { readonly schemas?: object | undefined } | undefined;
}

interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
}

interface OperationDocument {
  readonly operationId: string;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema?: JsonSchema }[];
  readonly requestBody?: { readonly content?: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
type Content = Readonly<Record<string, { readonly schema?: JsonSchema }>>;

/** TypeScript for clients in this repository: every schema, and every operation with its route, input and output. */
export function clientTypes(document: Document): string {
  const schemas = Object.entries(document.components?.schemas ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `export type ${name} = ${typeOf(schema as JsonSchema)};`);
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as object).map(([method, one]) => ({
      path,
      method: method.toUpperCase(),
      ...(one as OperationDocument),
    })),
  );
  operations.sort((a, b) => (a.operationId < b.operationId ? -1 : 1));
  const types = operations.map((one) => `  "${one.operationId}": { input: ${inputOf(one)}; output: ${outputOf(one)} };`);
  const routes = operations.map((one) => `  "${one.operationId}": "${one.method} ${one.path}",`);
  return [
    "// Generated from openapi.json by `npm run generate`; do not edit.",
    ...schemas,
    `export interface Operations {\n${types.join("\n")}\n}`,
    `/** Method and path of each operation. */\nexport const routes: Readonly<Record<keyof Operations, string>> = {\n${routes.join("\n")}\n};`,
    "",
  ].join("\n\n");
}

function inputOf({ parameters = [], requestBody }: OperationDocument): string {
  const members = parameters
    .filter((one) => one.in === "path" || one.in === "query")
    .map((one) => member(one.name, one.schema ?? {}, one.required === true));
  const body = requestBody?.content?.["application/json"]?.schema;
  const own = members.length > 0 || !body ? `{ ${members.join("; ")} }` : null;
  return [own, body && typeOf(body)].filter(Boolean).join(" & ");
}

function outputOf({ responses }: OperationDocument): string {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith("2")) ?? [];
  const schema = success?.content?.["application/json"]?.schema;
  return schema ? typeOf(schema) : "null";
}

const member = (name: string, schema: JsonSchema, required: boolean): string =>
  `${/^\w+$/.test(name) ? name : JSON.stringify(name)}${required ? "" : "?"}: ${typeOf(schema)}${required ? "" : " | undefined"}`;

function typeOf(schema: JsonSchema): string {
  if (schema.$ref) return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return `(${[...new Set(choices.map(typeOf))].join(" | ")})`;
  if (schema.allOf) return `(${schema.allOf.map(typeOf).join(" & ")})`;
  if (Array.isArray(schema.type)) return `(${schema.type.map((type: string) => typeOf({ ...schema, type })).join(" | ")})`;
  return simple(schema);
}

function simple(schema: JsonSchema): string {
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return `(${schema.items ? typeOf(schema.items) : "unknown"})[]`;
    case "object":
      return objectType(schema);
    default:
      return "unknown";
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: JsonSchema): string {
  const members = Object.entries(properties).map(([name, one]) => member(name, one, required.includes(name)));
  if (members.length > 0) return `{ ${members.join("; ")} }`;
  return `{ [name: string]: ${typeof additionalProperties === "object" ? typeOf(additionalProperties) : "unknown"} }`;
}
