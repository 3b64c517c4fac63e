/** The database did not answer in time, or the connection was lost. It is unknown whether the statement was executed. */
export class DatabaseUnavailable extends Error {
  override readonly name = "DatabaseUnavailable";
  readonly code = "DATABASE_UNAVAILABLE";
}

const unavailable = new Set([
  "DATABASE_UNAVAILABLE",
  // shutting down, crashed, starting up, too many clients
  "57P01",
  "57P02",
  "57P03",
  "53300",
  // statement_timeout, idle_in_transaction_session_timeout, transaction_timeout, idle_session_timeout
  "57014",
  "25P03",
  "25P04",
  "57P05",
]);

/** disk_full, out_of_memory, io_error, and read_only_sql_transaction: some hosts stop writes before the disk is full. */
const storingNothing = new Set(["53100", "53200", "58030", "25006"]);

/** Whether a query failed because the server answers, but cannot store data. */
export const cannotStore = (error: unknown): boolean => storingNothing.has(stateOf(error));
export const isDiskFull = (error: unknown): boolean => stateOf(error) === "53100";
/** Whether the server is read-only, for example because it has become a standby: a new connection may reach its successor. */
export const isReadOnly = (error: unknown): boolean => stateOf(error) === "25006";

/** Whether the server ended the session, or refused to begin it. */
const endsSession = (error: unknown): boolean => {
  const { severity, severity_local } = (error ?? {}) as { severity?: unknown; severity_local?: unknown };
  return ["FATAL", "PANIC"].includes(String(severity ?? severity_local));
};

/**
 * SQLSTATEs of a session that the server refuses: a wrong password or setting, a missing right, a database that is missing, was
 * removed or accepts no connections, another protocol.
 */
const refusals = /^(28|3D|22|42)|^(55000|57P04|0A000)$/;

/** Whether the server refuses sessions until an operator acts. A start does not wait for that. */
export const isRefusal = (error: unknown): boolean => endsSession(error) && refusals.test(stateOf(error));

const stateOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";

/** The message for a caller, and the number of seconds until a retry is useful; `null` for other errors. */
export function unavailableAnswer(error: unknown): { readonly message: string; readonly retryAfter: number } | null {
  if (isDiskFull(error)) return { message: "The database cannot store data: its disk is full.", retryAfter: 30 };
  if (isReadOnly(error)) return { message: "The database cannot store data: it is read-only.", retryAfter: 30 };
  if (cannotStore(error)) return { message: "The database cannot store data at the moment.", retryAfter: 30 };
  if (isRefusal(error)) return { message: "The database refuses connections. Try again later.", retryAfter: 30 };
  return isUnavailable(error) ? { message: "The database does not answer. Try again in a moment.", retryAfter: 2 } : null;
}

/**
 * Whether a query failed because the server cannot be reached, refuses sessions, does not respond in time or cannot store data. A
 * later retry may succeed.
 */
export const isUnavailable = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "code" in error &&
  (unavailable.has(String(error.code)) || endsSession(error) || cannotStore(error) || isOfPooler(error));

/** The database failure that caused an error, however deeply it is wrapped; `null` if there is none. */
export function unavailableCause(error: unknown): unknown {
  for (let one = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth++)
    if (isUnavailable(one)) return one;
  return null;
}

/** Whether an error comes from a pooler (a server would add `routine`): no session was free in time, or the session was lost. */
const isOfPooler = (error: { code?: unknown; routine?: unknown }): boolean =>
  error.code === "08P01" && error.routine === undefined;

/** Error codes of failed or lost connections, from the system and from the driver. */
const networkCodes = new Set([
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/** A failure of the network. */
export const isNetworkError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "code" in error && networkCodes.has(String(error.code));
