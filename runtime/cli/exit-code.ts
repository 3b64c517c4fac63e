import { Problem } from "@signalbox/schema/problem";
import { ConfigError, StartError } from "../platform/config.ts";
import { UsageError } from "./arguments.ts";
import { withoutControlCharacters } from "./output.ts";
import { RequestError } from "./request.ts";
import type { Terminal } from "./run.ts";

/** The exit code of a command; its error is printed. */
export async function exitCodeOf<T>(command: () => Promise<T>, terminal: Pick<Terminal, "err">): Promise<T | number> {
  try {
    return await command();
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.err(`${error.message}\n`);
      return 2;
    }
    // It may hold what a plugin or a tracker wrote.
    terminal.err(`${withoutControlCharacters(plain(error))}\n`);
    return 1;
  }
}

/** The error message; with its stack only if the error is unexpected. */
function plain(error: unknown): string {
  if (error instanceof ConfigError) return `Invalid configuration:\n${error.message}`;
  if (error instanceof StartError || error instanceof RequestError || error instanceof Problem) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
