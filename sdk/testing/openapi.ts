import { z } from "zod";
import type { RecordedRequest } from "./fake-server.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: object;
}
interface Operation {
  readonly parameters?: readonly ({ $ref: string } | Parameter)[];
  readonly requestBody?: { content: { "application/json"?: { schema: object } } };
}
/** The parts of an OpenAPI 3.0 description that `contractViolations` uses. */
export interface ApiContract {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: {
    readonly parameters?: Readonly<Record<string, Parameter>>;
    readonly schemas?: Readonly<Record<string, object>>;
  };
}

/** The violations of an OpenAPI description by a request. `base` is the path prefix that the description does not contain. */
export function contractViolations(
  contract: ApiContract,
  { method, path, query, body, headers }: RecordedRequest,
  base = "",
): string[] {
  const parts = (path.startsWith(base) ? path.slice(base.length) : path).split("/");
  const template = templateOf(contract, parts, method);
  if (template === undefined) return [`${method} ${path} is not in the contract`];
  const operation = contract.paths[template]?.[method.toLowerCase()] as Operation;
  const sharedParameters = (contract.paths[template] as { parameters?: Operation["parameters"] }).parameters ?? [];
  const parameters = [...sharedParameters, ...(operation.parameters ?? [])].map((entry) =>
    "$ref" in entry ? (contract.components?.parameters?.[entry.$ref.split("/").at(-1) ?? ""] as Parameter) : entry,
  );
  const values = new Map([...query].map(([name, value]) => [name, { in: "query", value }]));
  template.split("/").forEach((name, index) => {
    if (name.startsWith("{")) values.set(name.slice(1, -1), { in: "path", value: decodeURIComponent(parts[index] ?? "") });
  });
  const faults: string[] = [];
  for (const [name, { in: place, value }] of values) {
    const parameter = parameters.find((parameter) => parameter.name === name && parameter.in === place);
    if (!parameter) faults.push(`${place} parameter ${name} is not in the contract`);
    else if (
      ![value, Number(value), value.split(",")].some(
        (candidate) => schemaOf(contract, parameter.schema).safeParse(candidate).success,
      )
    )
      faults.push(`${name}=${value}`);
  }
  for (const { name, required, in: place } of parameters)
    if (required && place !== "header" && !values.has(name)) faults.push(`parameter ${name} is missing`);
  return [...faults, ...bodyFaults(contract, operation, body, headers["content-type"])];
}

/** The matching path template with the fewest parameters. */
function templateOf(contract: ApiContract, parts: readonly string[], method: string): string | undefined {
  const fits = (template: string) => {
    const names = template.split("/");
    return names.length === parts.length && names.every((name, index) => name.startsWith("{") || name === parts[index]);
  };
  const found = Object.keys(contract.paths).filter(
    (template) => fits(template) && contract.paths[template]?.[method.toLowerCase()],
  );
  return found.sort((a, b) => a.split("{").length - b.split("{").length)[0];
}

function bodyFaults(contract: ApiContract, operation: Operation, body: unknown, type: string | undefined): string[] {
  const schema = operation.requestBody?.content["application/json"]?.schema;
  if (!schema) return body === undefined ? [] : ["the contract has no request body"];
  const parsed = schemaOf(contract, schema).safeParse(body);
  const members = membersOf(contract, schema);
  return [
    ...(parsed.success ? [] : [z.prettifyError(parsed.error)]),
    ...Object.keys((body ?? {}) as object).flatMap((name) =>
      members[name] === undefined ? [`body member ${name} is not in the contract`] : [],
    ),
    ...Object.keys((body ?? {}) as object).flatMap((name) =>
      members[name]?.readOnly ? [`body member ${name} is read-only`] : [],
    ),
    ...(type?.startsWith("application/json") ? [] : [`content-type ${type}`]),
  ];
}

function membersOf(contract: ApiContract, schema: object): Record<string, { readOnly?: boolean }> {
  const reference = (schema as { $ref?: string }).$ref?.split("/").at(-1);
  const resolved = reference === undefined ? schema : contract.components?.schemas?.[reference];
  return (resolved as { properties?: Record<string, { readOnly?: boolean }> } | undefined)?.properties ?? {};
}

function schemaOf(contract: ApiContract, schema: object): z.ZodType {
  const definitions = contract.components?.schemas ?? {};
  const whole = { ...(requestForm(schema) as object), $defs: requestForm(definitions) };
  return z.fromJSONSchema(whole as never, { defaultTarget: "draft-2020-12" });
}

/** Converts a schema of OpenAPI 3.0 for requests: read-only members are not required, and `nullable` becomes a type. */
function requestForm(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(requestForm);
  if (typeof value !== "object" || value === null) return value;
  const { required, nullable, readOnly: _, example: _example, ...rest } = value as Record<string, unknown>;
  const object = Object.fromEntries(
    Object.entries(rest).map(([name, inner]) => [
      name,
      name === "$ref" && typeof inner === "string" ? inner.replace("#/components/schemas/", "#/$defs/") : requestForm(inner),
    ]),
  );
  const properties = (value as { properties?: Record<string, { readOnly?: boolean }> }).properties ?? {};
  const requiredMembers = Array.isArray(required) ? required.filter((name) => !properties[name]?.readOnly) : required;
  const whole = {
    ...object,
    ...(requiredMembers === undefined || (Array.isArray(requiredMembers) && requiredMembers.length === 0)
      ? {}
      : { required: requiredMembers }),
  };
  return nullable === true ? { anyOf: [whole, { type: "null" }] } : whole;
}
