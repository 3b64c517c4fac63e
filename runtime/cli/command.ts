import { parseArgs } from "node:util";
import { optionFault, UsageError } from "./arguments.ts";
import type { Terminal } from "./terminal.ts";

/** The options of a command, by name, and whether they take a value. */
export type Options = Readonly<Record<string, { readonly type: "string" | "boolean" }>>;

/** What a command was given. */
export interface Given {
  readonly positionals: readonly string[];
  /** The values of options that take one. */
  readonly texts: Readonly<Record<string, string>>;
  /** The names of the other options. */
  readonly flags: ReadonlySet<string>;
}

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
  readonly options?: Options;
  /** The usage error for arguments that it does not take, if it is not the unknown option with the usage or the help. */
  readonly refusal?: string;
  /** Returns the exit code; `null`: the service keeps running. `command`: this command, for usage errors. */
  readonly run: (given: Given, terminal: Terminal, command: Command) => Promise<number | null>;
}

/** `Usage: signalbox plugin approve <id> [version]`. */
export const usageOf = ({ name, args }: Command): string => `Usage: signalbox ${name} ${args}`.trimEnd();

/** The text of `--help`. */
export const helpOf = (command: Command): string =>
  command.help ?? `${usageOf(command)}\n\n${command.summary}\n${command.details ? `\n${command.details}` : ""}`;

export const wantsHelp = (args: readonly string[]): boolean => args.includes("--help") || args.includes("-h");

/** Runs a command with the words after its name, or prints its help. */
export async function runCommand(command: Command, words: readonly string[], terminal: Terminal): Promise<number | null> {
  if (!wantsHelp(words)) return command.run(givenOf(command, words), terminal, command);
  terminal.out(helpOf(command));
  return 0;
}

function givenOf(command: Command, words: readonly string[]): Given {
  const { options = {}, refusal } = command;
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    const entries = Object.entries(values);
    const texts = Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
    return { positionals, texts, flags: new Set(entries.flatMap(([name, value]) => (value === true ? [name] : []))) };
  } catch (error) {
    const help = command.details ? helpOf(command) : usageOf(command);
    throw new UsageError(refusal ?? `${optionFault(error, Object.keys(options))}\n${help}`);
  }
}
