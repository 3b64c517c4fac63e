import { currentTrace } from "./telemetry/tracing.ts";
import { visibleText } from "./visible.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof logLevels)[number];
type Fields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A log that adds these fields to each line. */
  with(fields: Fields): Log;
}

/** Writes an entry to the watchdog. The name of the member with this function is the level: `warn`, or `alarm` for an error. */
export type Report = (message: string, context: Record<string, unknown>) => void;

/** Writes one JSON object per line to standard error, or one readable line to a terminal. Control characters are escaped. */
export function createLog(
  options: { pretty: boolean; level?: LogLevel; write?: (line: string) => void },
  fields: Fields = {},
): Log {
  const write = options.write ?? toStandardError;
  const lowest = logLevels.indexOf(options.level ?? "info");
  const emit = (level: LogLevel, message: string, more: Fields = {}) => {
    if (logLevels.indexOf(level) < lowest) return;
    const trace_id = currentTrace();
    const all = { ...fields, ...more, ...(trace_id !== undefined && { trace_id }) };
    write(
      options.pretty
        ? readable(level, message, all)
        : visibleText(JSON.stringify({ time: new Date().toISOString(), level, message, ...plain(all) })),
    );
  };
  return {
    debug: (message, more) => emit("debug", message, more),
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
/** Joins the lines of one tick of the event loop into one write, because each write blocks until its reader has room. */
export function toStandardError(line: string): void {
  if (lines === "") setImmediate(flush);
  lines += `${line}\n`;
}
process.on("exit", flush);
// The program that reads the log may end first, for example the one after a pipe. Then its lines are lost and the service
// continues. If the error were unhandled, it would be logged in turn, endlessly.
process.stderr.on("error", () => {});

function readable(level: LogLevel, message: string, fields: Fields): string {
  const tail = Object.entries(fields).map(([name, value]) => ` ${visibleText(name)}=${formatValue(value)}`);
  const time = new Date().toISOString().slice(11, 23);
  return `${time} ${level === "info" ? "" : `${level.toUpperCase()} `}${visibleText(message)}${tail.join("")}`;
}

function formatValue(value: unknown): string {
  if (value instanceof Error) return shownError(value);
  return visibleText(typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)));
}

/** Keeps the lines of the stack's frames. The message before them may be external text, so it becomes one line. */
function shownError({ name, message, stack = "" }: Error): string {
  const head = message === "" ? name : `${name}: ${message}`;
  if (!stack.startsWith(head)) return visibleText(stack || head);
  const frames = stack.slice(head.length).split("\n").map(visibleText);
  return visibleText(head) + frames.join("\n");
}

/** Replaces errors with their text, because JSON turns an Error into `{}`. */
const plain = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? (value.stack ?? String(value)) : value]),
  );
