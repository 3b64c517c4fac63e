import { Readable } from "node:stream";
import type { HttpBindings } from "@hono/node-server";
import { httpRoute, type Operation } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import type { Context as HonoContext } from "hono";
import type { z } from "zod";
import { depthOf, maxDepth } from "../../platform/json.ts";

/** Where each member of an operation's input stands in an HTTP request. */
export interface Places {
  readonly params: readonly string[];
  readonly query: readonly string[];
  readonly body: readonly string[];
  /** Some body member has no default: a request without a body is a mistake. */
  readonly bodyNeeded: boolean;
}

export function placesOf(op: Operation): Places {
  const { method, params } = httpRoute(op);
  const rest = Object.keys(op.input.shape).filter((name) => !params.includes(name));
  const inBody = method === "POST" || method === "PUT";
  const body = inBody ? rest : [];
  const bodyNeeded = method === "PUT" || body.some((name) => !op.input.shape[name]?.safeParse(undefined).success);
  return { params, query: inBody ? [] : rest, body, bodyNeeded: bodyNeeded && body.length > 0 };
}

/** Collects an operation's input from path, query and body. */
export async function readInput(c: HonoContext, op: Operation, places: Places, maxBytes: number): Promise<unknown> {
  const input: Record<string, unknown> = {};
  const put = (name: string, value: unknown) =>
    Object.defineProperty(input, name, { value, enumerable: true, configurable: true, writable: true });
  if (places.body.length > 0) {
    const body = await readObject(c, places, maxBytes);
    for (const name of places.body) if (Object.hasOwn(body, name)) put(name, body[name]);
    if (c.req.method === "PUT" && Object.keys(input).length === 0) {
      throw problem("bad_request", `The body has no known member. Send at least one of: ${places.body.join(", ")}.`);
    }
  }
  for (const name of places.query) {
    const values = c.req.queries(name);
    if (values === undefined) continue;
    if (values.length > 1)
      throw problem("bad_request", `${name}: is given ${values.length} times in the query; give it once`, { field: name });
    put(name, fromText(op.input.shape[name], values[0] as string));
  }
  for (const name of places.params) put(name, fromText(op.input.shape[name], c.req.param(name) ?? ""));
  return input;
}

/** The JSON of a request's body; `undefined` where it is empty. */
export async function readJson(c: HonoContext, maxBytes: number): Promise<unknown> {
  const bytes = await readBody(c, maxBytes);
  if (bytes.byteLength === 0) return undefined;
  const type = c.req.header("content-type") ?? "";
  if (!json.test(type)) {
    const was = type ? `it is ${JSON.stringify(type.slice(0, 100))}` : "there is none";
    throw problem("unsupported_media_type", `Content-Type must be application/json; ${was}.`);
  }
  return parseJson(bytes, { "content-encoding": c.req.header("content-encoding") });
}

async function readObject(c: HonoContext, places: Places, maxBytes: number): Promise<Record<string, unknown>> {
  const value = await readJson(c, maxBytes);
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
const utf8 = new TextDecoder("utf-8", { fatal: true });

type Headers = Readonly<Record<string, string | undefined>>;

/** Parses a JSON body. What is not JSON, not UTF-8 or nested too deep is refused by name. */
export function parseJson(bytes: Uint8Array, headers: Headers, deepest = maxDepth): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw problem("bad_request", `The body is not valid JSON${saidToBe(headers) ?? ": it is not UTF-8"}.`);
  }
  if (Number.isFinite(deepest) && depthOf(text) > deepest)
    throw problem("bad_request", `The body is nested more than ${deepest} levels deep.`);
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the text around the fault; only the position is of use to the sender.
    const at = /position \d+( \(line \d+ column \d+\))?/.exec(String(error))?.[0];
    throw problem("bad_request", `The body is not valid JSON${saidToBe(headers) ?? (at ? `, at ${at}` : "")}.`);
  }
}

/** What the headers of a body that is not JSON say that it is: packed, or a form, as webhooks of some trackers are at first. */
function saidToBe(headers: Headers): string | null {
  const { "content-encoding": encoding, "content-type": type } = headers;
  if (encoding && !/^\s*identity\s*$/i.test(encoding))
    return `: its Content-Encoding is ${JSON.stringify(encoding.slice(0, 100))}; send it unpacked`;
  if (type && !json.test(type)) return `: its Content-Type is ${JSON.stringify(type.slice(0, 100))}; send application/json`;
  return null;
}

/**
 * Reads at most `max` bytes of a request's body; more is refused before it is held in memory. Straight from the socket
 * where there is one: it costs least, and a body that was refused midway leaves the connection in order.
 */
export async function readBody(c: HonoContext, max: number): Promise<Uint8Array> {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  if (incoming) return collect(incoming, incoming.headers["content-length"], max);
  const { body } = c.req.raw;
  return body ? collect(body as unknown as AsyncIterable<Uint8Array>, c.req.header("content-length"), max) : new Uint8Array(0);
}

async function collect(stream: AsyncIterable<Uint8Array>, declared: string | undefined, max: number): Promise<Uint8Array> {
  const tooLarge = () => problem("too_large", `The body is larger than ${max} bytes.`);
  if (declared && Number(declared) > max) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of keptOpen(stream)) {
    size += chunk.byteLength;
    if (size > max) throw tooLarge();
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, size);
}

/** A request's stream that is left early must not be destroyed: its connection would neither be read on nor closed. */
const keptOpen = (stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
  stream instanceof Readable ? stream.iterator({ destroyOnReturn: false }) : stream;

/** Query and path carry text: a number or boolean is read as such where the schema wants one. */
function fromText(schema: z.ZodType | undefined, value: string): unknown {
  const type = innermost(schema);
  // Plain digits only: "0x10", "1e3" and " 1" are text, which the schema then refuses.
  if ((type === "number" || type === "int") && /^-?\d+$/.test(value)) return Number(value);
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return value;
}

function innermost(schema: z.ZodType | undefined): string | undefined {
  let def = schema?.def as { type: string; innerType?: z.ZodType } | undefined;
  while (def?.innerType) def = def.innerType.def as typeof def;
  return def?.type;
}
