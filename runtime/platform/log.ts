export type LogLevel = "info" | "warn" | "error";
export type Fields = Readonly<Record<string, unknown>>;

export interface Log {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A log whose lines carry these fields too. */
  with(fields: Fields): Log;
}

/** Writes one JSON object per line to standard error, or, to a terminal, one readable line. */
export function createLog(options: { pretty: boolean; write?: (line: string) => void }, fields: Fields = {}): Log {
  const write = options.write ?? toStandardError;
  const emit = (level: LogLevel, message: string, more: Fields = {}) => {
    const all = { ...fields, ...more };
    write(
      options.pretty
        ? readable(level, message, all)
        : JSON.stringify({ time: new Date().toISOString(), level, message, ...plain(all) }),
    );
  };
  return {
    info: (message, more) => emit("info", message, more),
    warn: (message, more) => emit("warn", message, more),
    error: (message, more) => emit("error", message, more),
    with: (more) => createLog(options, { ...fields, ...more }),
  };
}

let lines = "";
const flush = () => {
  const all = lines;
  lines = "";
  if (all !== "") process.stderr.write(all);
};
/** What one turn of the event loop writes, in one write: each blocks until its reader has room. */
export function toStandardError(line: string): void {
  if (lines === "") setImmediate(flush);
  lines += `${line}\n`;
}
process.on("exit", flush);

function readable(level: LogLevel, message: string, fields: Fields): string {
  const tail = Object.entries(plain(fields)).map(
    ([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `${new Date().toISOString().slice(11, 23)} ${level === "info" ? "" : `${level.toUpperCase()} `}${message}${tail.join("")}`;
}

/** Errors as their text: an Error is `{}` to JSON. */
const plain = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? (value.stack ?? String(value)) : value]),
  );
