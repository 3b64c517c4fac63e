import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { Terminal } from "./terminal.ts";

/** Runs the command in `process.argv` with the streams of the process. */
export async function main(run: (argv: readonly string[], terminal: Terminal) => Promise<number | null>): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // `signalbox … | head` closes the pipe early, which is not an error.
    if (error.code === "EPIPE") process.exit(0);
    process.stderr.write(`The output is incomplete, because it could not be written: ${error.message}.\n`);
    process.exit(1);
  });
  const code = await run(process.argv.slice(2), {
    out: (written) => void process.stdout.write(written),
    err: (written) => void process.stderr.write(written),
    read: (from) => (from === "-" ? text(process.stdin) : readFile(from.slice(1), "utf8")),
    interactive: process.stdout.isTTY === true,
    columns: process.stdout.columns ?? 120,
  });
  if (code === null) return;
  // Flush what was written to a pipe, then exit at once, because the database client keeps timers for its connections.
  for (const stream of [process.stdout, process.stderr]) await new Promise<void>((done) => stream.write("", () => done()));
  process.exit(code);
}
