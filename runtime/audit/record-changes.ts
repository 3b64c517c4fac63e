import { httpRoute, type Operation } from "@signalbox/schema/operation";
import { Problem } from "@signalbox/schema/problem";
import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import { unavailableAnswer } from "../platform/database/unavailable.ts";
import { newId } from "../platform/ids.ts";
import { storable } from "../platform/json.ts";
import { type AuditEntry, type BoundOperation, type Context, Events } from "../platform/operation.ts";
import { appendToLog } from "./log-queries.ts";
import { maskSecrets } from "./mask-secrets.ts";

/** Maximum length of the stored JSON of an object before or after a change, in characters. */
const maxLength = 65_536;

const executionTexts = [
  ...["subject_title", "result", "error", "reason", "held_reason", "memories", "history", "transcript"],
  ...["body", "parameters", "error"].map((name) => `proposals.${name}`),
];
/**
 * Members that contain texts of issues, people or models, by noun or operation; `a.b` is the member `b` of `a`, or of each element
 * of the list `a`. They are omitted: retention and erasures must remove such texts, and an entry of the audit log cannot be changed.
 */
export const removableTexts: Readonly<Record<string, readonly string[]>> = {
  "task-executions": [...executionTexts, "samples", "first_error"],
  "tasks.restart": executionTexts,
  "webhook-events": ["subject_title", "actor", "author", "reason", "payload", "samples", "first_error"],
  "tools.execute": ["parameters", "result", "error"],
  queues: ["events.data"],
  "llm.chat": ["content", "tool_calls"],
  memory: ["content"],
};

/** Members that name a person whose data the operation removed. The log stores a pseudonym. */
const erasedNames: Readonly<Record<string, readonly string[]>> = { "data.erase": ["actor"] };

/**
 * Operations that may have done part of their work when they fail. The log records the request before they begin, as a change by
 * `<operation>.start`, and again with the reason if they are interrupted: a failure of the database, or the end of the process, may
 * prevent the second entry.
 */
const isDoneInParts = new Set(["data.erase"]);

/** Operations that store their entry in the statement that makes the change: one commit instead of two. */
const storesOwnEntry = new Set(["memory.create"]);

/** An object before and after a change. */
interface Change {
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * The same operations, but each one that changes data also writes a row of the audit log, after it has succeeded and before it is
 * answered. The `get` operation of the noun reads the object before the change, so the log contains no value that responses omit,
 * such as a secret.
 */
export function recordChanges(
  operations: readonly BoundOperation[],
  { pseudonymOf, onError }: { pseudonymOf: (name: string) => string; onError: (error: unknown) => void },
): BoundOperation[] {
  const append = batch(
    async (changes: { sql: Sql; entry: string }[]) => {
      const [first] = changes;
      if (first)
        await appendToLog(
          first.sql,
          changes.map(({ entry }) => entry),
        );
      return changes.map(() => null);
    },
    { maxItems: 64, concurrency: 1 },
  );
  const readers = new Map(operations.map((one) => [one.op.id, one]));
  return operations.map((one) => {
    if (!isChange(one.op)) return one;
    const read = readerOf(one.op, readers);
    const run: BoundOperation["run"] = async (input, context) => {
      const request_id = context.request_id ?? newId();
      const entryOf = (operation: string, change: Change) => {
        const entry = {
          at: new Date().toISOString(),
          actor: context.actor.name,
          operation,
          object: objectOf(one.op, input, change.after),
          before: storedValue(one.op, change.before, pseudonymOf),
          after: storedValue(one.op, change.after, pseudonymOf),
          request_id,
        };
        return JSON.stringify(storable(entry));
      };
      const record = (operation: string, change: Change) => append({ sql: context.sql, entry: entryOf(operation, change) });
      const before = await read(input, context);
      const isInParts = isDoneInParts.has(one.op.id);
      const isOwn = storesOwnEntry.has(one.op.id);
      const recordStart = (details: object) => record(`${one.op.id}.start`, { before, after: { ...input, ...details } });
      const auditEntry: AuditEntry = {
        of: (output) => entryOf(one.op.id, { before, after: one.op.output.parse(output) }),
        isStored: false,
      };
      const more = {
        ...(isInParts && { recordStart: { value: recordStart } }),
        ...(isOwn && { auditEntry: { value: auditEntry } }),
      };
      const given: Context = isInParts || isOwn ? Object.create(context, more) : context;
      const answer = await (one.run(input, given) as Promise<unknown>).catch(async (error: unknown) => {
        const failed = { ...input, is_complete: false, error: reasonOf(error) };
        const isRefused = error instanceof Problem && error.status < 500;
        if (isInParts && !isRefused && !one.op.isPreview?.(failed))
          await record(one.op.id, { before, after: failed }).catch(onError);
        throw error;
      });
      // The transcript contains the conversation with a model.
      if (answer instanceof Events || auditEntry.isStored) return answer;
      const after = one.op.status === 204 ? null : one.op.output.parse(answer);
      if (one.op.isPreview?.(after)) return answer;
      await record(one.op.id, { before, after }).catch(onError);
      return answer;
    };
    return { op: one.op, run };
  });
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

function storedValue(op: Operation, value: unknown, pseudonymOf: (name: string) => string): unknown {
  const shown = maskSecrets(withPseudonyms(op, withoutTexts(op, value), pseudonymOf)) ?? null;
  const { length } = JSON.stringify(shown);
  return length > maxLength ? { too_long_to_keep: `${length} characters` } : shown;
}

function withoutTexts(op: Operation, value: unknown): unknown {
  const paths = removableTexts[op.id] ?? removableTexts[nounOf(op)] ?? [];
  return paths.reduce((rest, path) => without(rest, path.split(".")), value);
}

function without(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, [String(name), ...rest]));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).flatMap(([key, member]) => {
    if (key !== name) return [[key, member]];
    return rest.length === 0 ? [] : [[key, without(member, rest)]];
  });
  return Object.fromEntries(members);
}

function withPseudonyms(op: Operation, value: unknown, pseudonymOf: (name: string) => string): unknown {
  const names = erasedNames[op.id] ?? [];
  if (names.length === 0 || typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [
    key,
    names.includes(key) && typeof member === "string" ? pseudonymOf(member) : member,
  ]);
  return Object.fromEntries(members);
}

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

const nounOf = (op: Operation): string => op.id.split(".")[0] as string;

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
