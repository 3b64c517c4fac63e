import { Problem } from "@signalbox/schema/problem";
import { ConfigError, StartError } from "../platform/config.ts";
import { UsageError } from "./arguments.ts";
import { printable, withoutControlCharacters } from "./output.ts";
import { RequestError } from "./request.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Runs a command and returns its result. If it fails, prints the error and returns the exit code. Escapes control characters in
 * output.
 */
export async function exitCodeOf<T>(command: (terminal: Terminal) => Promise<T>, terminal: Terminal): Promise<T | number> {
  const { out, err, ...rest } = terminal;
  const safeTerminal: Terminal = { ...rest, out: (text) => out(printable(text)), err: (text) => err(printable(text)) };
  try {
    return await command(safeTerminal);
  } catch (error) {
    if (error instanceof UsageError) {
      safeTerminal.err(`${error.message}\n`);
      return 2;
    }
    // It may contain text of a plugin or a tracker.
    safeTerminal.err(`${withoutControlCharacters(plain(error))}\n`);
    return 1;
  }
}

/** For example a file that is missing or may not be read. */
const isSystemError = (error: unknown): error is Error =>
  error instanceof Error && "syscall" in error && /^E[A-Z0-9]+$/.test(String((error as NodeJS.ErrnoException).code));

/** The error message; its stack is added only if the error is unexpected. */
function plain(error: unknown): string {
  if (error instanceof ConfigError) return `Invalid configuration:\n${error.message}`;
  if (isSystemError(error) || error instanceof StartError || error instanceof RequestError || error instanceof Problem)
    return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
