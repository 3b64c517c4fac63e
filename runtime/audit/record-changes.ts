import { httpRoute, type Operation } from "@signalbox/schema/operation";
import { Problem, problems } from "@signalbox/schema/problem";
import { databaseInstant } from "../platform/clock.ts";
import { unavailableAnswer, unavailableCause } from "../platform/database/unavailable.ts";
import { newId } from "../platform/ids.ts";
import { storable } from "../platform/json.ts";
import { type AuditEntry, type BoundOperation, type Context, Events } from "../platform/operation.ts";
import type { ChangeRecorder } from "./change-recorder.ts";
import { nounOf, requestedValue, storedValue } from "./stored-value.ts";

/**
 * Operations that may have done part of their work when they fail. The log records the request before they begin, as a change by
 * `<operation>.start`, and again with the reason if they are interrupted: a failure of the database, or the end of the process, may
 * prevent the second entry.
 */
const isDoneInParts = new Set(["data.erase"]);

/** Operations that store their entry in the statement that makes the change: one commit instead of two. */
const storesOwnEntry = new Set(["memory.create"]);

/** What the entry of a change whose result is unknown says in place of it. */
const stopped = "The service stopped before it recorded the result; check whether the change was made.";

interface RecordOptions {
  readonly recorder: ChangeRecorder;
  readonly pseudonymOf: (name: string) => string;
}

/**
 * The same operations, but each one that changes data also writes a row of the audit log, after it has ended and before it is
 * answered. The `get` operation of the noun reads the object before the change, so the log contains no value that responses omit,
 * such as a secret.
 */
export function recordChanges(operations: readonly BoundOperation[], options: RecordOptions): BoundOperation[] {
  const readers = new Map(operations.map((one) => [one.op.id, one]));
  return operations.map((one) => {
    if (!isChange(one.op)) return one;
    const read = readerOf(one.op, readers);
    const run: BoundOperation["run"] = async (input, context) => {
      const entries = entriesOf(one.op, input, await read(input, context), context, options);
      if (isDoneInParts.has(one.op.id)) return runInParts(one, input, context, entries, options);
      if (storesOwnEntry.has(one.op.id)) return runWithOwnEntry(one, input, context, entries, options);
      return runRecorded(one, input, context, entries, options);
    };
    return { op: one.op, run };
  });
}

/** The entries of one change, as JSON. */
interface Entries {
  /** `after`: the response, or the request of an erasure. */
  of(operation: string, after: unknown): string;
  /** An entry of a change that may or may not have been made. */
  unknown(error: string): string;
}

function entriesOf(
  op: Operation,
  input: Record<string, unknown>,
  read: unknown,
  context: Context,
  { pseudonymOf }: RecordOptions,
): Entries {
  const request_id = context.request_id ?? newId();
  const before = storedValue(op, read, pseudonymOf);
  const entry = (operation: string, object: string, after: unknown) => {
    const at = databaseInstant();
    return JSON.stringify(storable({ at, actor: context.actor.name, operation, object, before, after, request_id }));
  };
  return {
    of: (operation, after) => entry(operation, objectOf(op, input, after), storedValue(op, after, pseudonymOf)),
    unknown: (error) => {
      const { name, ...requested } = requestedValue(op, input);
      const stored = storedValue(op, { ...(name !== undefined && { name }), ...requested }, pseudonymOf) as object;
      // A name without its id could be that of an earlier object.
      return entry(op.id, objectOf(op, input, requested), { ...stored, is_complete: false, error });
    },
  };
}

type RunChange = (
  one: BoundOperation,
  input: Record<string, unknown>,
  context: Context,
  entries: Entries,
  options: RecordOptions,
) => Promise<unknown>;

/** Stores the change before it begins, so that it has an entry even if the process ends or the database fails. */
const runRecorded: RunChange = async (one, input, context, entries, { recorder }) => {
  const { sql } = context;
  const id = await recorder.begin(sql, entries.unknown(stopped));
  try {
    const answer = await one.run(input, context);
    const after = resultOf(one.op, answer);
    await (after === undefined ? recorder.discard(sql, id) : recorder.record(sql, id, entries.of(one.op.id, after)));
    return answer;
  } catch (error) {
    await (isRefusal(error) ? recorder.discard(sql, id) : recorder.record(sql, id, entries.unknown(failureOf(error, context))));
    throw error;
  }
};

const runWithOwnEntry: RunChange = async (one, input, context, entries, { recorder }) => {
  const auditEntry: AuditEntry = { of: (output) => entries.of(one.op.id, one.op.output.parse(output)), isStored: false };
  const answer = await one.run(input, Object.create(context, { auditEntry: { value: auditEntry } }));
  if (!auditEntry.isStored) await recorder.record(context.sql, null, entries.of(one.op.id, resultOf(one.op, answer)));
  return answer;
};

const runInParts: RunChange = async (one, input, context, entries, { recorder }) => {
  const { id, isPreview } = one.op;
  const recordStart = (details: object) => recorder.append(context.sql, entries.of(`${id}.start`, { ...input, ...details }));
  const record = (after: unknown) => recorder.record(context.sql, null, entries.of(id, after));
  try {
    const answer = await one.run(input, Object.create(context, { recordStart: { value: recordStart } }));
    const after = resultOf(one.op, answer);
    if (after !== undefined) await record(after);
    return answer;
  } catch (error) {
    const failed = { ...input, is_complete: false, error: reasonOf(error) };
    if (!isRefusal(error) && !isPreview?.(failed)) await record(failed);
    throw error;
  }
};

/** What the log stores of an answer; `undefined`: nothing. The transcript contains a conversation with a model. */
function resultOf({ status, output, isPreview }: Operation, answer: unknown): unknown {
  if (answer instanceof Events) return undefined;
  const after = status === 204 ? null : output.parse(answer);
  return isPreview?.(after) ? undefined : after;
}

const isRefusal = (error: unknown): boolean => error instanceof Problem && error.status < 500;

/** Why it is unknown whether a change was made. Messages may contain texts that an erasure must remove, so they are not stored. */
function failureOf(error: unknown, { signal }: Context): string {
  const database = unavailableAnswer(unavailableCause(error))?.message.replace(/ Try again[^.]*\./, "");
  const known = error instanceof Problem ? `${problems[error.code].title}.` : null;
  const reason = signal.aborted ? "The caller disconnected." : (database ?? known ?? "Internal error; see the service's log.");
  return `${reason} Check whether the change was made.`;
}

/**
 * Why the operation failed, without its advice to the caller. Unexpected errors may contain texts that the erasure must remove.
 */
function reasonOf(error: unknown): string {
  const known = error instanceof Problem ? (error.cause ?? error) : error;
  return (known instanceof Problem ? known : unavailableAnswer(known))?.message ?? "Internal error; see the service's log.";
}

/** Operations that need only the scope `read`, and those that agents call, do not change the operator's data. */
export const isChange = (op: Operation): boolean =>
  !op.streaming && (op.scope === "write" || op.scope === "admin") && httpRoute(op).method !== "GET";

/** For example `agents/pm_default`: from the parameters of the path, or from the id or name in the response. */
function objectOf(op: Operation, input: Record<string, unknown>, after: unknown): string {
  const noun = nounOf(op);
  const named = httpRoute(op).params.map((name) => String(input[name]));
  if (named.length > 0) return [noun, ...named].join("/");
  const { id, key, qualified_name, name } = (after ?? {}) as Record<string, unknown>;
  // Other operations on a memory name its key, not its id.
  const found = (noun === "memory" ? key : undefined) ?? id ?? qualified_name ?? name;
  return found === undefined ? noun : `${noun}/${found}`;
}

type Reader = (input: Record<string, unknown>, context: Context) => Promise<unknown>;

/** Maximum number of pages of a list in which an object is searched for. */
const maxPages = 20;

/** Reads an object with the `get` operation of its noun, or if there is none, finds it in the list by its id or name. */
function readerOf(op: Operation, all: ReadonlyMap<string, BoundOperation>): Reader {
  const { params, method } = httpRoute(op);
  const [name] = params;
  if (name === undefined) return async () => null;
  const get = all.get(`${nounOf(op)}.get`);
  const sameParameters = get && httpRoute(get.op).params.every((name) => params.includes(name));
  const list = all.get(`${nounOf(op)}.list`);
  return async (input, context) => {
    try {
      if (sameParameters) return get.op.output.parse(await get.run(get.op.input.parse(pick(input, params)), context));
      // Other operations on an object with a name only use it: `tools.execute` changes no tool.
      if (!list?.op.paginated || (name !== "id" && method === "POST")) return null;
      return await findInList(list, (item) => item[name] === input[name], context);
    } catch {
      // It does not exist or cannot be read: the operation itself reports that.
      return null;
    }
  };
}

async function findInList(
  list: BoundOperation,
  isMeant: (item: Record<string, unknown>) => boolean,
  context: Context,
): Promise<unknown> {
  for (let page = 0, limit = 1000; page < maxPages; page++) {
    const query = list.op.input.parse({ limit, offset: page * limit });
    const { items } = list.op.output.parse(await list.run(query, context)) as { items: Record<string, unknown>[] };
    const found = items.find(isMeant);
    if (found || items.length < limit) return found ?? null;
  }
  return null;
}

const pick = (input: Record<string, unknown>, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, input[name]]));
