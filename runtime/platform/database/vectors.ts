import type { DistanceMetric, VectorSettings } from "@signalbox/sdk";
import type { Log } from "../log.ts";
import { lockKeys, underAdvisoryLock } from "./advisory-lock.ts";
import type { Database, Queryable } from "./client.ts";
import { type FindNearest, openNearest } from "./nearest.ts";

export interface VectorOptions {
  readonly dimension: number;
  readonly model: string;
  readonly metric: DistanceMetric;
  readonly index: "hnsw" | "ivfflat";
  readonly probes: number;
}

const operators = { cosine: "<=>", l2: "<->", ip: "<#>" } as const;
/** Maximum number of dimensions in an index of pgvector. `halfvec`, with half the precision, allows twice as many. */
const maxVectorDimension = 2000;
const maxHalfvecDimension = 4000;
/** Below this number of rows, an ivfflat index has too little training data, and an exact search is fast. */
const minRowsForIvfflat = 1000;
/**
 * Number of neighbours that an HNSW index considers for each row (`ef_construction`). With pgvector's default of 64, some of
 * 100,000 rows are never found. The embedded database uses a lower value, because it builds indexes slowly and contains fewer
 * rows.
 */
const efConstruction = { postgres: 200, embedded: 64 };

export interface OpenVectors extends VectorSettings {
  readonly nearest: FindNearest;
  /** Recreates missing columns and indexes. */
  prepare(): Promise<void>;
}

/**
 * Creates the column `embedding` and its index on tables, as configured. Replicas that start together take turns by polling,
 * because a concurrent index build would wait for a replica that waits for the lock.
 */
export async function openVectors(
  database: Database,
  tables: readonly string[],
  options: VectorOptions,
  log: Log,
): Promise<OpenVectors> {
  const [row] = await database.sql<
    { version: string }[]
  >`select extversion as version from pg_extension where extname = 'vector'`;
  const version = row?.version ?? "0";
  /** The type without its dimension. */
  const base = isAtLeast(version, 0, 7) && options.dimension > maxVectorDimension ? "halfvec" : "vector";
  const indexable = options.dimension <= (base === "halfvec" ? maxHalfvecDimension : maxVectorDimension);
  const iterative = isAtLeast(version, 0, 8);
  if (!iterative) log.warn("pgvector is older than 0.8: searches with a filter may miss results; upgrade it", { version });
  if (!indexable)
    log.warn("vectors have too many dimensions for an index: every search compares all of them", {
      dimension: options.dimension,
      version,
    });
  const type = `${base}(${options.dimension})`;
  const kind = indexable ? options.index : null;
  const prepare = () =>
    underAdvisoryLock(database, lockKeys.vectors, (sql) =>
      prepareTables(sql, database.kind, tables, { ...options, kind, base, type }, log),
    );
  await prepare();
  const { dimension, metric, model, probes } = options;
  const nearest = await openNearest(database, { type, operator: operators[metric], kind, iterative, probes });
  return { dimension, metric, model, type, operator: operators[metric], nearest, prepare };
}

const isAtLeast = (version: string, major: number, minor: number): boolean => {
  const [a = 0, b = 0] = version.split(".").map(Number);
  return a > major || (a === major && b >= minor);
};

type Prepared = VectorOptions & { kind: "hnsw" | "ivfflat" | null; base: "vector" | "halfvec"; type: string };

async function prepareTables(sql: Queryable, database: Database["kind"], tables: readonly string[], want: Prepared, log: Log) {
  for (const table of tables) {
    await sql.unsafe(`alter table ${table} add column if not exists embedding ${want.type}`);
    // Rows without vectors are queried repeatedly.
    await sql.unsafe(`create index if not exists ${table}_waiting on ${table} (created_at, id) where embedding is null`);
    const name = want.kind && `${table}_embedding_${want.kind}_${want.metric}`;
    const indexes = await sql<{ name: string; valid: boolean }[]>`
      select c.relname as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = ${table}::regclass and c.relname like ${`${table}\\_embedding\\_%`}`;
    const existingIndex = indexes.find((index) => index.name === name);
    if (name && !existingIndex?.valid) {
      const rows = await countVectors(sql, table);
      if (want.kind === "hnsw" || rows >= minRowsForIvfflat) {
        if (existingIndex) await sql.unsafe(`drop index ${name}`);
        if (rows > 1000) log.info("building the vector index", { table, rows, index: name });
        await sql.unsafe(createIndex(name, table, rows, database, want));
      }
    }
    for (const old of indexes) if (old.name !== name) await sql.unsafe(`drop index if exists ${old.name}`);
  }
}

/** The number of rows with a vector, counted up to a million. */
async function countVectors(sql: Queryable, table: string): Promise<number> {
  const [count] = await sql<
    [{ rows: number }]
  >`select count(*) as rows from (select 1 from ${sql(table)} where embedding is not null limit 1000000) counted`;
  return count.rows;
}

function createIndex(name: string, table: string, rows: number, database: Database["kind"], want: Prepared): string {
  // On a server, other sessions write at the same time and must not wait.
  const concurrently = database === "postgres" ? "concurrently" : "";
  const lists = Math.ceil(Math.max(rows / 1000, 10));
  const settings = want.kind === "ivfflat" ? `lists = ${lists}` : `ef_construction = ${efConstruction[database]}`;
  const operators = `${want.base}_${want.metric}_ops`;
  return `create index ${concurrently} if not exists ${name} on ${table} using ${want.kind} (embedding ${operators}) with (${settings})`;
}
