import { nearestName } from "@signalbox/schema/nearest";
import { httpRoute, type Operation } from "@signalbox/schema/operation";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { Context as HonoContext } from "hono";
import type { z } from "zod";
import {
  hasMoreValuesThan,
  hasWiderObjectThan,
  isDeeperThan,
  maxDepth,
  maxMembers,
  maxValues,
  readJson as readJsonText,
} from "../../platform/json.ts";
import { type BodyLimits, readBody } from "./body.ts";

/** Which part of an HTTP request contains each member of an operation's input. */
interface Places {
  readonly params: readonly string[];
  readonly query: readonly string[];
  readonly body: readonly string[];
  /** Whether a member of the body has no default, so that a request needs a body. */
  readonly bodyNeeded: boolean;
}

/** Whether the operation has a dry run. It then refuses unknown members: with a typo in `dry_run`, it would make a change. */
export const hasTrial = ({ input }: Operation): boolean =>
  ["dry_run", "confirm"].some((name) => Object.hasOwn(input.shape, name));

export function placesOf(op: Operation): Places {
  const { method, params } = httpRoute(op);
  const rest = Object.keys(op.input.shape).filter((name) => !params.includes(name));
  const inBody = method === "POST" || method === "PUT";
  const body = inBody ? rest : [];
  const bodyNeeded = method === "PUT" || body.some((name) => !op.input.shape[name]?.safeParse(undefined).success);
  return { params, query: inBody ? [] : rest, body, bodyNeeded: bodyNeeded && body.length > 0 };
}

/** Collects an operation's input from the path, the query and the body. */
export async function readInput(c: HonoContext, op: Operation, places: Places, limits: BodyLimits): Promise<unknown> {
  const input: Record<string, unknown> = {};
  // The names are those of the operation's schema, so none is `__proto__`.
  const put = (name: string, value: unknown) => {
    input[name] = value;
  };
  if (places.body.length > 0) {
    const body = await readObject(c, places, limits);
    if (hasTrial(op))
      refuseUnknown(c, op, {
        names: Object.keys(body).filter((name) => !places.params.includes(name)),
        allowedNames: places.body,
        kind: "",
      });
    for (const name of places.body) if (Object.hasOwn(body, name)) put(name, body[name]);
    if (c.req.method === "PUT" && Object.keys(input).length === 0) {
      throw problem("bad_request", `The body has no known member. Send at least one of: ${places.body.join(", ")}.`);
    }
  }
  // A filter with a typo in its name would return everything.
  if (op.http?.includes(" /api/") && c.req.raw.url.includes("?"))
    refuseUnknown(c, op, { names: Object.keys(c.req.queries()), allowedNames: places.query, kind: "query " });
  for (const name of places.query) {
    const values = c.req.queries(name);
    if (values === undefined) continue;
    if (values.length > 1) throw fieldProblem(name, `is given ${values.length} times in the query; give it once`);
    put(name, fromText(op, name, values[0] as string));
  }
  for (const name of places.params) put(name, fromText(op, name, c.req.param(name) ?? ""));
  return input;
}

interface Members {
  readonly names: readonly string[];
  readonly allowedNames: readonly string[];
  /** `query `, or empty for members of the body. */
  readonly kind: string;
}

function refuseUnknown(c: HonoContext, op: Operation, { names, allowedNames, kind }: Members): void {
  const unknown = names.find((name) => !allowedNames.includes(name));
  if (unknown === undefined) return;
  const of = `${httpRoute(op).method} ${c.req.path}`;
  throw problem("bad_request", unknownMember(unknown, { allowedNames, kind, of }), { field: unknown.slice(0, 100) });
}

/** `status: is not a query member of GET /api/task-executions; did you mean "state"?` */
export function unknownMember(
  name: string,
  { allowedNames, kind, of }: Omit<Members, "names"> & { readonly of: string },
): string {
  const suggestion = nearestName(name, allowedNames);
  const help = suggestion
    ? `did you mean "${suggestion}"?`
    : allowedNames.length > 0
      ? `it takes ${allowedNames.join(", ")}`
      : "it takes none";
  return `${name.slice(0, 100)}: is not a ${kind}member of ${of}; ${help}`;
}

/** The JSON of a request's body; `undefined` if it is empty. */
export async function readJson(c: HonoContext, limits: BodyLimits): Promise<unknown> {
  const bytes = await readBody(c, limits);
  if (bytes.byteLength === 0) return undefined;
  const type = c.req.header("content-type") ?? "";
  if (!isJson(type)) {
    const was = type ? `it is ${JSON.stringify(type.slice(0, 100))}` : "there is none";
    throw problem("unsupported_media_type", `Content-Type must be application/json; ${was}.`);
  }
  return parseCall(bytes, { "content-encoding": c.req.header("content-encoding") });
}

/** Parses the JSON body of an operation, like `parseJson`. Also refuses so many values that their validation would take long. */
export function parseCall(bytes: Uint8Array, headers: Headers): unknown {
  refuseCostly(bytes);
  return parseJson(bytes, headers);
}

/** Throws for a JSON text whose parsing or validation would block the event loop. */
export function refuseCostly(bytes: Uint8Array): void {
  if (isDeeperThan(maxDepth, bytes)) throw tooDeep;
  if (hasMoreValuesThan(maxValues, bytes)) throw tooManyValues;
  if (hasWiderObjectThan(maxMembers, bytes)) throw tooWide;
}

const tooDeep = problem("bad_request", `The body is nested more than ${maxDepth} levels deep.`);
export const tooManyValues = problem(
  "bad_request",
  `The body has more than ${maxValues} members and list items; send less at a time.`,
);
const tooWide = problem("bad_request", `The body has an object with more than ${maxMembers} members; send fewer at a time.`);

async function readObject(c: HonoContext, places: Places, limits: BodyLimits): Promise<Record<string, unknown>> {
  const value = await readJson(c, limits);
  if (value === undefined) {
    if (places.bodyNeeded) throw problem("bad_request", `The body is empty. Send a JSON object with: ${places.body.join(", ")}.`);
    return {};
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw problem(
      "bad_request",
      `The body must be a JSON object; it is ${Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`}.`,
    );
  }
  return value as Record<string, unknown>;
}

const json = /^application\/([\w.+-]+\+)?json\s*(;|$)/i;
export const isJson = (type: string): boolean => json.test(type);

type Headers = Readonly<Record<string, string | undefined>>;

/** Parses a JSON body. Throws a problem if it is not JSON, not UTF-8 or nested too deeply. */
export const parseJson = (bytes: Uint8Array, headers: Headers): unknown => bodyValue(readJsonText(bytes), headers);

/** The parsed value. Throws a problem with the reason if there is none. */
export function bodyValue(read: ReturnType<typeof readJsonText>, headers: Headers): unknown {
  if ("value" in read) return read.value;
  if (read.fault === "depth") throw tooDeep;
  const position = read.fault === "syntax" && read.at ? `, at ${read.at}` : "";
  const detail = describeFormat(headers) ?? (read.fault === "utf8" ? ": it is not UTF-8" : position);
  throw problem("bad_request", `The body is not valid JSON${detail}.`);
}

/**
 * The format that the headers of a body name, if it is not JSON: compressed, or a form, which is the default of some trackers.
 */
function describeFormat(headers: Headers): string | null {
  const { "content-encoding": encoding, "content-type": type } = headers;
  if (encoding && !/^\s*identity\s*$/i.test(encoding))
    return `: its Content-Encoding is ${JSON.stringify(encoding.slice(0, 100))}; send it uncompressed`;
  if (type && !json.test(type)) return `: its Content-Type is ${JSON.stringify(type.slice(0, 100))}; send application/json`;
  return null;
}

/** Query and path contain text. A number or boolean is converted if the schema requires one. */
function fromText({ input }: Operation, name: string, value: string): unknown {
  const type = innermost(input.shape[name]);
  if (type === "number" || type === "int") {
    // Plain digits only, not "0x10", "1e3" or " 1".
    if (/^-?\d+$/.test(value)) return Number(value);
    const given = JSON.stringify(value.slice(0, 100));
    throw fieldProblem(name, `must be a whole number; it is ${given}`);
  }
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return value;
}

function innermost(schema: z.ZodType | undefined): string | undefined {
  let def = schema?.def as { type: string; innerType?: z.ZodType } | undefined;
  while (def?.innerType) def = def.innerType.def as typeof def;
  return def?.type;
}
