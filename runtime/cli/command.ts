import type { Terminal } from "./terminal.ts";

/** A command that is not generated from an operation. */
export interface Command {
  /** The words after `signalbox`: `memory import`, `plugin new`. */
  readonly name: string;
  /** Its arguments and options, as its help shows them: `<folder> [--kind <kind>]`. */
  readonly args: string;
  /** One sentence for the list of commands. */
  readonly summary: string;
  /** Lines that only its own help shows, after the summary. */
  readonly details?: string;
  /** Its own help, if it is not the usage with the summary. */
  readonly help?: string;
  /** Returns the exit code; `null`: the service keeps running. `command`: this command, for usage errors. */
  readonly run: (args: readonly string[], terminal: Terminal, command: Command) => Promise<number | null>;
}

/** `Usage: signalbox plugin approve <id> [version]`. */
export const usageOf = ({ name, args }: Command): string => `Usage: signalbox ${name} ${args}`.trimEnd();

/** The text of `--help`. */
export const helpOf = (command: Command): string =>
  command.help ?? `${usageOf(command)}\n\n${command.summary}\n${command.details ? `\n${command.details}` : ""}`;

export const wantsHelp = (args: readonly string[]): boolean => args.includes("--help") || args.includes("-h");
