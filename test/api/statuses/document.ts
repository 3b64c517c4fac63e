import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: AnySchemaObject;
}
type Content = Readonly<Record<string, { readonly schema: AnySchemaObject }>>;
interface Described {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly "x-grpc"?: string;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: AnySchemaObject;
}

/** One operation, as `openapi.json` describes it. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  readonly params: readonly Parameter[];
  readonly query: readonly Parameter[];
  readonly body: AnySchemaObject | null;
  readonly statuses: readonly number[];
  /** What a key must allow; `null`: served without one. */
  readonly scope: string | null;
  /** `package.Service/Method`; `null`: not offered over gRPC. */
  readonly grpc: string | null;
}

const file = fileURLToPath(new URL("../../../schema/gen/openapi.json", import.meta.url));
export const document = JSON.parse(readFileSync(file, "utf8")) as Document;

export const operations: readonly Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => read(path, method, described)),
);

export function operationOf(id: string): Operation {
  const found = operations.find((one) => one.id === id);
  if (!found) throw new Error(`openapi.json has no operation ${id}`);
  return found;
}

function read(path: string, method: string, described: Described): Operation {
  const { parameters = [], responses, security } = described;
  return {
    id: described.operationId,
    method: method.toUpperCase(),
    path,
    params: parameters.filter((one) => one.in === "path"),
    query: parameters.filter((one) => one.in === "query"),
    body: described.requestBody?.content["application/json"]?.schema ?? null,
    statuses: Object.keys(responses).map(Number),
    scope: security.flatMap((one) => one.apiKey ?? [])[0] ?? null,
    grpc: described["x-grpc"] ?? null,
  };
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
(formats as unknown as (on: Ajv2020) => void)(ajv);
// Added once, so that its components are not read again for each schema that refers to them.
ajv.addSchema(document, "openapi");
/** The schema at this place of the document. Ajv keeps it. */
const schemaAt = (...place: readonly string[]): ValidateFunction | undefined =>
  ajv.getSchema(
    `openapi#/${place.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`,
  );

/** What of an answer's body is not as its status declares it; empty where all is. */
export function faultsOf(id: string, status: number, body: unknown): string[] {
  const { path, method } = operationOf(id);
  const response = document.paths[path]?.[method.toLowerCase()]?.responses[status];
  if (!response) return [`${id} declares no ${status}`];
  if (response.content && Object.keys(response.content).join() === "text/event-stream")
    return typeof body === "string" && (body === "" || /^(event|:)/.test(body)) ? [] : [`${id} sends no events`];
  if (!response.content?.["application/json"]?.schema) return body === null ? [] : [`${id} declares no body for ${status}`];
  const place = ["responses", String(status), "content", "application/json", "schema"];
  const validate = schemaAt("paths", path, method.toLowerCase(), ...place);
  if (!validate) throw new Error(`the schema of ${id} ${status} was not found`);
  return validate(body) ? [] : (validate.errors ?? []).map((one) => `${one.instancePath} ${one.message}`);
}
