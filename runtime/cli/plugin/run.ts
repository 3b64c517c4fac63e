import { UsageError } from "../arguments.ts";
import { runCommand, wantsHelp } from "../command.ts";
import { withoutControlCharacters } from "../output.ts";
import type { Terminal } from "../terminal.ts";
import { pluginCommands, pluginHelp } from "./commands.ts";
import { PackageError } from "./package-error.ts";

/** `signalbox plugin …`: commands for authors in the plugin's folder, and for operators with the service. */
export async function runPlugin([verb, ...args]: readonly string[], terminal: Terminal): Promise<number | null> {
  const command = pluginCommands.find(({ name }) => name === `plugin ${verb}`);
  if (!command) {
    if (verb === "--help" || verb === "-h" || wantsHelp(args)) {
      terminal.out(pluginHelp());
      return 0;
    }
    const what = verb === undefined ? "missing verb" : `unknown verb ${JSON.stringify(verb)}`;
    throw new UsageError(`plugin: ${what}\n\n${pluginHelp()}`);
  }
  try {
    return await runCommand(command, args, terminal);
  } catch (error) {
    if (!(error instanceof PackageError)) throw error;
    // The message may contain text of a package.
    terminal.err(withoutControlCharacters(`${error.code}: ${error.message}\n`));
    return 1;
  }
}
