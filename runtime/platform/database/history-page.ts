import type { historyFilter } from "@signalbox/schema/history";
import { fieldProblem } from "@signalbox/schema/problem";
import type { z } from "zod";
import { firstIdOf, isUuid } from "../ids.ts";
import type { Fragment, Queryable } from "./driver.ts";

type Filter = z.output<z.ZodObject<typeof historyFilter>>;
export interface HistoryPage<T> {
  readonly items: T[];
  readonly total: number;
  readonly total_is_minimum: boolean;
  readonly next_cursor: string | null;
}

/** A table whose rows are listed by a key that increases with time. */
export interface History {
  /** The table, with the alias `t`. */
  readonly table: Fragment;
  /** The key by which the rows are ordered: a UUID of version 7, or a number. */
  readonly key: Fragment;
  readonly keyType: "uuid" | "bigint";
  /** The column with the creation time. */
  readonly time: Fragment;
  readonly columns: Fragment;
  /** Conditions for the filters that only this list has, each with a leading `and`. */
  readonly where: Fragment;
  /** Joins for `columns`, executed only for the rows of the page. */
  readonly joined?: Fragment;
  /** Text that `q` searches. Rows without it are `null`. */
  readonly text: Fragment;
  /** Bytes of the long texts in `columns`, if they contain some. A page ends before they exceed `maxPageBytes`. */
  readonly bytes?: Fragment;
}

/** Maximum bytes of the long texts of a page; the first item may be longer. The description of `fields` in schema/history.ts names it. */
const maxPageBytes = 16 * 2 ** 20;

/** Maximum count. A higher count would cost more than the list itself. */
const maxCounted = 10_000;
/** Maximum number of rows that a page of a search reads. The description of `q` in schema/history.ts contains the number. */
const maxSearched = 10_000;
/** Maximum difference between the database's clock and the clock of a replica that creates ids. */
const clockSkewMs = 10 * 60_000;

/** One page after the cursor, newest or oldest first. New rows do not shift the pages. */
export async function readHistory<T>(sql: Queryable, history: History, filter: Filter): Promise<HistoryPage<T>> {
  const behind = filter.cursor === undefined ? null : readCursor(filter, history.keyType);
  if (behind !== null && filter.offset > 0) throw fieldProblem("offset", "cannot be combined with cursor; send one of them");
  const where = sql`where true ${history.where} ${timeBounds(sql, history, filter)}`;
  const read = filter.q === undefined ? readRows<T> : searchRows<T>;
  return read(sql, history, filter, { where, behind });
}

interface Scope {
  readonly where: Fragment;
  /** Key of the last row of the previous page. */
  readonly behind: string | null;
}

async function readRows<T>(sql: Queryable, history: History, filter: Filter, { where, behind }: Scope): Promise<HistoryPage<T>> {
  const { table, key, columns, joined = sql`` } = history;
  const all = sql`${where} ${beyond(sql, history, filter, behind)} order by ${key} ${direction(sql, filter)}`;
  const limit = await fittingRows(sql, history, filter, sql`${all} limit ${filter.limit} offset ${filter.offset}`);
  const rows = await sql<(T & { history_key: string })[]>`
    select ${columns}, ${key}::text as history_key from ${table} ${joined} ${all} limit ${limit + 1} offset ${filter.offset}`;
  const [count] = await sql<[{ total: number }]>`
    select count(*) as total from (select 1 from ${table} ${where} limit ${maxCounted + 1}) counted`;
  const items = rows.slice(0, limit);
  return {
    items,
    total: Math.min(count.total, maxCounted),
    total_is_minimum: count.total > maxCounted,
    next_cursor: rows.length > items.length ? cursorOf(filter, items.at(-1)?.history_key as string) : null,
  };
}

/** How many of the rows of a page fit into it; at least one. `rows`: the conditions and the limit of the page. */
async function fittingRows(sql: Queryable, { table, key, bytes }: History, filter: Filter, rows: Fragment): Promise<number> {
  if (!bytes) return filter.limit;
  const [fitting] = await sql<[{ count: number }]>`
    select count(*) as count from (
      select sum(bytes) over (order by k ${direction(sql, filter)}) as total from (select ${key} as k, ${bytes} as bytes from ${table} ${rows}) page
    ) summed where total <= ${maxPageBytes}`;
  return Math.min(filter.limit, Math.max(1, fitting.count));
}

interface Found {
  /** Number of rows that were read. */
  readonly read: number;
  readonly last: string | null;
  readonly matches: number;
  readonly keys: readonly string[] | null;
}

/** Reads a limited number of rows, so a page may contain fewer matches than exist. The cursor continues where it ended. */
async function searchRows<T>(
  sql: Queryable,
  history: History,
  filter: Filter,
  { where, behind }: Scope,
): Promise<HistoryPage<T>> {
  const { table, key, columns, text, joined = sql`` } = history;
  const order = direction(sql, filter);
  const opposite = filter.order === "asc" ? sql`desc` : sql`asc`;
  const find = async (from: string | null) => {
    const [found] = await sql<[Found]>`
      with candidates as materialized (
        select ${key} as k, ${containsWords(sql, text, filter.q ?? "")} as hit
        from ${table} ${where} and ${text} is not null ${beyond(sql, history, filter, from)} order by ${key} ${order} limit ${maxSearched}
      )
      select count(*) as read, (select k::text from candidates order by k ${opposite} limit 1) as last, count(*) filter (where hit) as matches,
        ((array_agg(k::text order by k ${order}) filter (where hit)))[${filter.offset + 1}::int : ${filter.offset + filter.limit + 1}::int] as keys
      from candidates`;
    return found;
  };
  const page = await find(behind);
  const all = behind === null ? page : await find(null);
  const oneOf = (keys: readonly string[]) => sql`where ${key} = any(${keys as string[]}::${sql.unsafe(history.keyType)}[])`;
  const found = (page.keys ?? []).slice(0, filter.limit);
  const keys = found.slice(0, await fittingRows(sql, history, filter, oneOf(found)));
  const items = await sql<(T & { history_key: string })[]>`
    select ${columns}, ${key}::text as history_key from ${table} ${joined} ${oneOf(keys)} order by ${key} ${order}`;
  const more = (page.keys?.length ?? 0) > keys.length ? keys.at(-1) : page.read === maxSearched ? page.last : null;
  return {
    items,
    total: all.matches,
    total_is_minimum: all.read === maxSearched,
    next_cursor: more ? cursorOf(filter, more) : null,
  };
}

/**
 * Whether a text contains each of the words, ignoring case. If the words are ASCII, a comparison without the rules of other
 * alphabets is used, which is eight times faster.
 */
export const containsWords = (sql: Queryable, text: Fragment, q: string): Fragment =>
  sql`(${text}) ${/^[\x20-\x7e]*$/.test(q) ? sql`collate "C"` : sql``} ilike all (${patternsOf(q)}::text[])`;

/** Each word as a pattern that matches it literally. */
const patternsOf = (q: string): string[] => q.split(/\s+/).map((word) => `%${word.replace(/[\\%_]/g, "\\$&")}%`);

const direction = (sql: Queryable, { order }: Filter): Fragment => (order === "asc" ? sql`asc` : sql`desc`);

function beyond(sql: Queryable, { key, keyType }: History, { order }: Filter, last: string | null): Fragment {
  if (last === null) return sql``;
  const type = sql.unsafe(keyType);
  return order === "asc" ? sql`and ${key} > ${last}::text::${type}` : sql`and ${key} < ${last}::text::${type}`;
}

/** A key begins with its creation time, so a time range is also a range of the key's index. */
function timeBounds(
  sql: Queryable,
  { key, keyType, time }: Pick<History, "key" | "keyType" | "time">,
  { from, to }: Pick<Filter, "from" | "to">,
): Fragment {
  const isId = keyType === "uuid";
  const since = from === undefined ? sql`` : sql`and ${time} >= ${from}::timestamptz`;
  const until = to === undefined ? sql`` : sql`and ${time} < ${to}::timestamptz`;
  const first = isId && from !== undefined ? sql`and ${key} >= ${firstIdOf(Date.parse(from) - clockSkewMs)}::uuid` : sql``;
  const last = isId && to !== undefined ? sql`and ${isCreatedBefore(sql, key, to)}` : sql``;
  return sql`${since} ${until} ${first} ${last}`;
}

/** The condition that a row was created before this time, as a range of ids. A few later rows meet it too. */
export const isCreatedBefore = (sql: Queryable, id: Fragment, time: string): Fragment =>
  sql`${id} < ${firstIdOf(Date.parse(time) + clockSkewMs)}::uuid`;

/** The conditions of a filter's `from`, `to` and `q`, each with a leading `and`, for statements that read no page. */
export function readBounds(
  sql: Queryable,
  history: Pick<History, "key" | "keyType" | "time" | "text">,
  filter: Pick<Filter, "from" | "to" | "q">,
): Fragment {
  const words = filter.q === undefined ? sql`` : sql`and ${containsWords(sql, history.text, filter.q)}`;
  return sql`${timeBounds(sql, history, filter)} ${words}`;
}

const cursorOf = ({ order }: Filter, key: string): string => Buffer.from(`${order} ${key}`).toString("base64url");

function readCursor({ cursor = "", order }: Filter, keyType: History["keyType"]): string {
  const [cursorOrder, key, ...rest] = Buffer.from(cursor, "base64url").toString("utf8").split(" ");
  const isKey = keyType === "uuid" ? isUuid : (text: string) => /^\d{1,18}$/.test(text);
  const fault = (what: string) => fieldProblem("cursor", what);
  if (key === undefined || rest.length > 0 || !isKey(key))
    throw fault("is not a cursor of this list; send the X-Next-Cursor of the previous page");
  if (cursorOrder !== order) throw fault(`belongs to order=${cursorOrder}; send the same order with every page`);
  return key;
}
