import type { Input, Operation, Output, Scope } from "@signalbox/schema/operation";
import { fieldProblem, type Problem, problem } from "@signalbox/schema/problem";
import type { z } from "zod";
import type { Sql } from "./database/client.ts";
import { decisiveIssue, issueText } from "./issue-text.ts";
import type { Log } from "./log.ts";

/** The caller: the holder of an API key, or if there are no keys, anyone who can reach the service. */
export interface Actor {
  readonly kind: "key" | "anonymous";
  readonly name: string;
  readonly scopes: readonly Exclude<Scope, "open">[];
  /** SHA-256 of the API key, in hexadecimal. */
  readonly key_hash?: string;
  /** Agents that the key may register; null or absent: all. */
  readonly agents?: readonly string[] | null;
  /** Ids of the projects that the key is restricted to; null or absent: all. */
  readonly projects?: readonly number[] | null;
}

export interface Context {
  readonly sql: Sql;
  readonly log: Log;
  readonly actor: Actor;
  /** Aborted when the caller disconnects or its deadline passes. */
  readonly signal: AbortSignal;
  /** Address of the caller; `null` if unknown. */
  readonly address?: () => string | null;
  /** Id of the last server-sent event that the caller received, if it resumes a stream. */
  readonly last_event_id?: string | undefined;
  /** Id that the caller gave to the request. */
  readonly request_id?: string | undefined;
  /**
   * Records in the audit log that the operation begins. Call it before the first change. Set for operations that may have done part of
   * their work when they fail. Rejects if it cannot be recorded.
   */
  readonly recordStart?: ((details: object) => Promise<unknown>) | undefined;
  /** Set for operations that store their entry of the audit log in the statement that makes the change. */
  readonly auditEntry?: AuditEntry | undefined;
}

/** The same context, whose signal is also aborted with this one. It is not a copy, because a context may have getters. */
export const withSignal = (context: Context, signal: AbortSignal): Context =>
  Object.create(context, { signal: { value: AbortSignal.any([context.signal, signal]) } });

/** An entry of the audit log. Unless `isStored` is set, it is appended after the operation. */
export interface AuditEntry {
  /** The entry's JSON, given what the operation will return. */
  of(output: unknown): string;
  isStored: boolean;
}

/** The id in the headers of a request; `undefined` unless it is printable and short, so that logs can contain it. */
export const requestIdOf = (headers: Headers) => /^[\w.:-]{1,100}$/.exec(headers.get("x-request-id") ?? "")?.[0];

type Handler<O extends Operation> = (
  input: Input<O>,
  context: Context,
) => O["streaming"] extends true ? AsyncIterable<Output<O>> : Promise<Output<O> | Events>;

/** One server-sent event. */
export interface ServerEvent {
  readonly event: string;
  /** The value that a reader sends as `Last-Event-ID` to continue after this event. */
  readonly id?: string;
  readonly data: unknown;
}

/** The possible results of a handler of an operation with `events`. */
export class Events {
  readonly all: AsyncIterable<ServerEvent>;
  constructor(all: AsyncIterable<ServerEvent>) {
    this.all = all;
  }
}

/** An operation with its handler. It is independent of transports. */
export interface BoundOperation {
  readonly op: Operation;
  // biome-ignore lint/suspicious/noExplicitAny: a list of operations mixes input types; `handle` checks each pair
  readonly run: (input: any, context: Context) => Promise<unknown> | AsyncIterable<unknown>;
}

export const handle = <O extends Operation>(op: O, run: Handler<O>): BoundOperation => Object.freeze({ op, run });

/**
 * Parses the input, runs the operation and parses its output, so that only declared members are returned. Of an operation that
 * answers with events, the output is the data of the last one; null if there was none.
 */
export async function invoke(operation: BoundOperation, raw: unknown, context: Context): Promise<unknown> {
  const answer = await invokeWithEvents(operation, raw, context);
  if (!(answer instanceof Events)) return answer;
  let last: unknown = null;
  for await (const { data } of answer.all) last = data;
  return operation.op.output.parse(last);
}

/** The same for a transport that can send events. */
export async function invokeWithEvents(operation: BoundOperation, raw: unknown, context: Context): Promise<unknown> {
  const answer = await operation.run(parseInput(operation.op, raw), context);
  if (!(answer instanceof Events)) return operation.op.output.parse(answer);
  const { serverSentEvents: events } = operation.op;
  if (!events) throw new Error(`${operation.op.id} answers with events that it does not declare`);
  return new Events(parseEvents(answer.all, events));
}

async function* parseEvents(all: AsyncIterable<ServerEvent>, schema: z.ZodType): AsyncGenerator<ServerEvent> {
  for await (const one of all) yield { ...one, data: parseOnce(one.data, schema) };
}

/** Streams share the data of their events, so each is parsed once. */
const parsedInputs = new WeakMap<z.ZodType, WeakMap<object, unknown>>();
function parseOnce(data: unknown, schema: z.ZodType): unknown {
  if (typeof data !== "object" || data === null) return schema.parse(data);
  const known = parsedInputs.get(schema) ?? new WeakMap<object, unknown>();
  parsedInputs.set(schema, known);
  if (!known.has(data)) known.set(data, schema.parse(data));
  return known.get(data);
}

/** The same for a server stream, which yields parsed outputs. */
export async function* invokeStream(operation: BoundOperation, raw: unknown, context: Context): AsyncIterable<unknown> {
  const input = parseInput(operation.op, raw);
  for await (const output of operation.run(input, context) as AsyncIterable<unknown>) yield operation.op.output.parse(output);
}

function parseInput(op: Operation, raw: unknown): unknown {
  refuseUnstorable(raw, []);
  const parsed = op.input.safeParse(raw);
  if (parsed.success) {
    for (const bounds of ["", "finished_"]) {
      refuseEmptyPeriod(parsed.data, "", bounds);
      refuseEmptyPeriod(Object(parsed.data).filter, "filter.", bounds);
    }
    return parsed.data;
  }
  // A request without a session is always answered as unauthenticated, even if it has other errors.
  if (parsed.error.issues.some(({ path }) => path[0] === "session_id"))
    throw problem("unauthenticated", "session_id: is required. Call RegisterAgent to open a session.", { field: "session_id" });
  throw inputProblem(parsed.error);
}

/** Otherwise, the answer would be empty, as if nothing had happened. */
function refuseEmptyPeriod(input: unknown, path: string, bounds: string): void {
  const { [`${bounds}from`]: from, [`${bounds}to`]: to } = Object(input) as Record<string, unknown>;
  if (typeof from !== "string" || typeof to !== "string") return;
  if (Date.parse(from) >= Date.parse(to)) throw fieldProblem(`${path}${bounds}to`, `must be a time after ${bounds}from`);
}

/** The first error of an input as a message for the caller: `messages[0].role: must be user or assistant`. */
export function inputProblem(error: z.ZodError): Problem {
  const first = decisiveIssue(error.issues);
  if (!first) return problem("bad_request", "The request is not valid.");
  const field = pathText(first.path);
  const others = new Set(error.issues.map(({ path }) => pathText(path))).size - 1;
  const more = others > 0 ? ` (and ${others} more)` : "";
  const what = issueText(first);
  return problem("bad_request", field ? `${field}: ${what}${more}` : `${what}${more}`, field ? { field } : {});
}

const pathText = (path: readonly PropertyKey[]): string =>
  path.map((part, i) => (typeof part === "number" ? `[${part}]` : `${i ? "." : ""}${String(part)}`)).join("");

/**
 * PostgreSQL stores neither NUL characters nor unpaired surrogates, so they are refused with the member's name before anything
 * runs.
 */
export function refuseUnstorable(value: unknown, path: PropertyKey[]): void {
  if (typeof value === "string") {
    const fault = value.includes("\0") ? "a NUL character" : value.isWellFormed() ? null : "half of a surrogate pair";
    if (fault) throw problem("bad_request", `${pathText(path) || "input"}: must not contain ${fault}`, { field: pathText(path) });
  } else if (typeof value === "object" && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      const here = [...path, Array.isArray(value) ? Number(key) : key];
      if (!Array.isArray(value)) refuseUnstorable(key, path);
      refuseUnstorable(member, here);
    }
  }
}
