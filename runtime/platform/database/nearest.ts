import type { SqlAccess, SqlStatement, VectorQuery, VectorSettings } from "@signalbox/sdk";
import { toSql } from "pgvector";
import type { Database, Sql } from "./client.ts";
import { pipelined } from "./transaction.ts";

/**
 * Number of rows that a search of a vector index visits. With fewer, recall among 100,000 rows is below 0.97 (`npm run bench --
 * memory`).
 */
const minCandidates = 200;
const maxCandidates = 1000;
/**
 * Up to this number of rows, a search compares all of them. The index of the filter is then faster, and a search of an HNSW graph
 * with few vectors misses those that have little in common with the others.
 */
const minRowsForIndex = 400;
/** Maximum number of sessions for searches. With more, searches would only wait for the processors. */
const sessions = 8;

/** A column `embedding` with its type and index. */
interface VectorColumn extends Pick<VectorSettings, "type" | "operator"> {
  /** `null` if no index is possible, so every search compares all rows. */
  readonly kind: "hnsw" | "ivfflat" | null;
  /** Whether iterative scans are available: with them, pgvector continues if a filter leaves too few rows. */
  readonly iterative: boolean;
  readonly probes: number;
}

/** Finds the nearest neighbours of a vector. */
export type FindNearest = <Row>(query: VectorQuery) => Promise<Row[]>;

/**
 * On a PostgreSQL server, searches use separate sessions whose settings are set once, so a search is one statement. On the
 * embedded database, and if a pooler refuses such settings, each search sets them in its transaction.
 */
export async function openNearest(database: Database, column: VectorColumn): Promise<FindNearest> {
  const settings = settingsOf(column);
  const session = await openSession(database, settings);
  const run = session
    ? (statement: SqlStatement) => runPrepared(session, statement)
    : async (statement: SqlStatement) => {
        const set = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', true)`);
        return (await pipelined(database.sql, (tx) => [runPrepared(tx as Sql, statement)], `select ${set.join(", ")}`))[0] ?? [];
      };
  return async <Row>(query: VectorQuery) => [...(await run(nearestStatement(query, column)))] as Row[];
}

const runPrepared = (sql: Sql, { text, parameters }: SqlStatement) => sql.unsafe(text, parameters as never[], { prepare: true });

async function openSession(database: Database, settings: Record<string, string>): Promise<Sql | null> {
  const session = database.sessions?.(sessions, settings);
  if (!session) return null;
  try {
    await session`select 1`;
    return session;
  } catch (error) {
    // 08P01: a pooler refused the settings.
    if ((error as { code?: string }).code !== "08P01") throw error;
    await session.end({ timeout: 1 });
    return null;
  }
}

/**
 * The statement finds out whether many rows match the filter, and chooses between the vector index and comparing all of them. The
 * planner cannot choose, because it does not know the cost of reading vectors, which are stored out of line. So the settings
 * discourage sorting and sequential scans, and one plan is used for all values.
 */
function settingsOf({ kind, iterative, probes }: VectorColumn): Record<string, string> {
  const always = { enable_seqscan: "off", enable_sort: "off", jit: "off", plan_cache_mode: "force_generic_plan" };
  if (!kind) return always;
  return {
    ...always,
    // Without iterative scans, the index returns its candidates before the filter is applied, so too few may remain.
    ...(iterative && { [`${kind}.iterative_scan`]: "relaxed_order" }),
    ...(kind === "ivfflat" && { "ivfflat.probes": String(probes) }),
  };
}

/** Appends a value to the query's own parameters. */
function parametersOf(query: VectorQuery) {
  const values = [...query.parameters];
  return { values, add: (value: string | number) => `$${values.push(value)}` };
}

function nearestStatement(query: VectorQuery, column: VectorColumn): SqlStatement {
  const { table, columns, anyOf } = query;
  const { values, add } = parametersOf(query);
  const distance = `embedding ${column.operator} ${add(toSql(query.vector as number[]) as string)}::${column.type}`;
  const limit = `${add(query.limit)}::int`;
  const filter = anyOf ? (anyOf.length === 0 ? "false" : `(${anyOf.join(" or ")})`) : "true";
  const rows = (and: string) =>
    `select ${columns}, ${distance} as distance from ${table}
        where ${filter} and ${query.condition ?? "true"} and embedding is not null${and}`;
  const wide = () => {
    if (column.kind !== "hnsw") return "";
    const many = Math.min(maxCandidates, Math.max(minCandidates, query.limit * 2));
    return ` and (select set_config('hnsw.ef_search', ${add(String(many))}, true)) is not null`;
  };
  const byIndex = (and: string) => `${rows(`${and}${wide()}`)} order by ${distance} limit ${limit}`;
  // Prevents the planner from using the vector index here.
  const compareAll = (and: string) => `select * from (${rows(and)} offset 0) every_one order by distance limit ${limit}`;
  let parts: string;
  if (!column.kind) parts = `found as materialized (${compareAll("")})`;
  else {
    const ofTable = `greatest(${minRowsForIndex}, 1.5 * sqrt(${limit} * greatest(reltuples, 0)))::int as n from pg_class where oid = '${table}'::regclass`;
    parts = `bound as materialized (select ${anyOf ? ofTable : `${minRowsForIndex} as n`}),
      size as materialized (select ${hasMoreRows(table, anyOf ?? ["true"], "(select n from bound)")} as large),
      near as materialized (${byIndex(" and (select large from size)")}),
      every as materialized (${compareAll(` and (select count(*) from near) < ${limit}`)}),
      found as materialized (select * from near where (select count(*) from near) >= ${limit} union all select * from every)`;
  }
  return { text: `with ${parts} ${query.answer ?? "select * from found order by distance, id"}`, parameters: values };
}

/**
 * Whether the conditions select more than `most` rows in total. A row that meets two of them counts twice. Skipping rows is cheaper
 * than counting them.
 */
function hasMoreRows(table: string, anyOf: readonly string[], most: string): string {
  if (anyOf.length === 0) return "false";
  const rows = anyOf.map((condition) => `select 1 from ${table} where ${condition}`).join(" union all ");
  return `exists (select 1 from (${rows}) rows offset ${most} limit 1)`;
}

/** The capability `sql`: the pool behind a plugin's statements. */
export const sqlAccess = (sql: Sql, nearest: FindNearest): SqlAccess => ({
  // Prepared, so that a statement takes one round trip instead of two.
  query: async <Row>({ text, parameters }: SqlStatement) =>
    [...(await sql.unsafe(text, parameters as never[], { prepare: parameters.length > 0 }))] as Row[],
  nearest: <Row>(query: VectorQuery) => nearest<Row>(query),
});
