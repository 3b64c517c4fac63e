import type { Duplex } from "node:stream";
import postgres from "postgres";

export type Sql = postgres.Sql<Record<string, never>>;
/** The parameter of a query function: the pool, or a transaction. */
export type Queryable = Sql | postgres.TransactionSql<Record<string, never>>;
export type Row = postgres.Row;
/** A part of a statement, written with the same tagged template. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

interface DriverOptions {
  /** `postgres://…`; absent if `socket` needs no address. */
  readonly url?: string;
  /** Settings of the session, sent with its start. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whether the session keeps prepared statements. Default: `true`. */
  readonly prepare?: boolean | undefined;
  /** Opens the stream to the server. Called again when the driver reconnects. */
  readonly socket: (address: Address) => Duplex;
  /** Called when the connection was closed. */
  readonly onClose: () => void;
  readonly onNotification?: (payload: string) => void;
}

/** The address of the server, as the driver parses it from the URL, which may name several hosts. */
export interface Address {
  host: string[];
  port: number[];
  /** A Unix socket. */
  readonly path: string | false;
}

const array = (to: number, parse: (text: string) => unknown = String) => ({
  to,
  from: [to],
  serialize: (value: unknown) => (Array.isArray(value) ? serializeArray(value) : value),
  parse: (text: string) => parseArray(text, parse),
});

/** Object id of the type `boolean[]`. Without it, the driver treats an array of booleans as one boolean. */
export const booleanArray = 1000;

const types = {
  // Converts a row to the format of the API: timestamps as ISO 8601 in UTC, 64-bit counts as numbers.
  timestamp: {
    to: 1184,
    from: [1184],
    serialize: (value: Date | string) => (value instanceof Date ? value.toISOString() : value),
    parse: parseTimestamp,
  },
  bigint: { to: 20, from: [20], serialize: String, parse: Number },
  bytes: { to: 17, from: [17], serialize: (value: Uint8Array) => `\\x${Buffer.from(value).toString("hex")}`, parse: parseBytes },
  // The array types in statements. The driver would query each new session for all types, and if that query failed, its rejection
  // would be unhandled.
  booleans: array(booleanArray, (text) => text === "t"),
  texts: array(1009),
  names: array(1003),
  uuids: array(2951),
  integers: array(1007, Number),
  bigints: array(1016, Number),
  floats: array(1022, Number),
};

/**
 * The formats of texts and times, whatever the defaults of the database or role are. Only the settings that poolers know, because
 * they refuse a session with others.
 */
const formats = { TimeZone: "UTC", DateStyle: "ISO, MDY", standard_conforming_strings: "on" };

/**
 * The driver for one connection. It keeps no pool and never reconnects, because its handling of lost connections loses queries
 * (porsager/postgres #1186, #1193); `Connection` does that.
 */
export const openDriver = ({ url, settings, prepare = true, socket, onClose, onNotification }: DriverOptions): Sql => {
  const options = {
    types,
    socket,
    prepare,
    max: 1,
    fetch_types: false,
    no_subscribe: true,
    onnotice: () => {},
    onclose: onClose,
    onnotify: (_: string, payload: string) => onNotification?.(payload),
    // `Connection` and `Pool` handle deadlines and the age of connections.
    connect_timeout: 0,
    idle_timeout: 0,
    max_lifetime: null,
    connection: { application_name: "signalbox", ...formats, ...settings },
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>;
  return (url === undefined ? postgres(options) : postgres(url, options)) as unknown as Sql;
};

/** SQLSTATE of a failed query, for example 23505 for a broken unique constraint; `null` for any other error. */
export const sqlState = (error: unknown): string | null => (error instanceof postgres.PostgresError ? error.code : null);
/** Name of the constraint that a query broke. */
export const constraintOf = (error: unknown): string | null =>
  error instanceof postgres.PostgresError ? (error.constraint_name ?? null) : null;

/** `2026-11-27 19:01:12.25+00`, as sessions with the formats above write it. */
const timestampInUtc = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,3})?\+00$/;

/** A timestamp in ISO 8601 with milliseconds. A `Date` takes six times as long, and a page of a list has hundreds of them. */
export function parseTimestamp(text: string): string {
  if (!timestampInUtc.test(text)) return new Date(text).toISOString();
  const fraction = text.length === 22 ? ".000" : text.slice(19, -3).padEnd(4, "0");
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z`;
}

/**
 * The value of a `bytea` in either format of `bytea_output`: `\x6162`, or with the default of databases that are older than
 * PostgreSQL 9.0, `ab\000`.
 */
export function parseBytes(text: string): Buffer {
  if (text.startsWith("\\x")) return Buffer.from(text.slice(2), "hex");
  const byteOf = (_: string, code: string) => (code === "\\" ? code : String.fromCharCode(Number.parseInt(code, 8)));
  return Buffer.from(text.replace(/\\(\\|[0-7]{3})/g, byteOf), "latin1");
}

/** A PostgreSQL array of one dimension, from its text: `{a,"b \"c\"",NULL}`. */
export function parseArray<T>(text: string, parse: (element: string) => T): (T | null)[] {
  const elements: (T | null)[] = [];
  // A quoted element (group 1), or an unquoted one up to the next comma (group 2).
  for (const [, quoted, plain] of text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/gs)) {
    if (quoted !== undefined) elements.push(parse(quoted.replace(/\\(.)/gs, "$1")));
    else elements.push(plain === "NULL" ? null : parse(plain as string));
  }
  return elements;
}

export const serializeArray = (elements: readonly unknown[]): string =>
  `{${elements.map((one) => (one === null ? "NULL" : `"${escapeQuotes(String(one))}"`)).join(",")}}`;

/** Checked first, because ids and names contain neither and a replacement costs several times as much. */
const escapeQuotes = (text: string): string => (/["\\]/.test(text) ? text.replace(/["\\]/g, "\\$&") : text);
