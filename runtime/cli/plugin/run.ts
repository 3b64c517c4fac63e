import { UsageError } from "../arguments.ts";
import { helpOf, wantsHelp } from "../command.ts";
import { withoutControlCharacters } from "../output.ts";
import type { Terminal } from "../terminal.ts";
import { pluginCommands, pluginHelp } from "./commands.ts";
import { PackageError } from "./package-error.ts";

/** `signalbox plugin …`: commands for authors in the plugin's folder, and for operators with the service. */
export async function runPlugin([verb, ...args]: readonly string[], terminal: Terminal): Promise<number | null> {
  const command = pluginCommands.find(({ name }) => name === `plugin ${verb}`);
  const help = command ? helpOf(command) : pluginHelp();
  if (verb === "--help" || verb === "-h" || wantsHelp(args)) {
    terminal.out(help);
    return 0;
  }
  if (!command) {
    const what = verb === undefined ? "missing verb" : `unknown verb ${JSON.stringify(verb)}`;
    throw new UsageError(`plugin: ${what}\n\n${help}`);
  }
  try {
    return await command.run(args, terminal, command);
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (typeof code === "string" && code.startsWith("ERR_PARSE_ARGS")) throw new UsageError(`${message}\n${help}`);
    if (!(error instanceof PackageError)) throw error;
    // The message may contain text of a package.
    terminal.err(withoutControlCharacters(`${error.code}: ${error.message}\n`));
    return 1;
  }
}
