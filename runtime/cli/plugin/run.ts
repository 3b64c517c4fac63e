import { nearestName } from "@signalbox/schema/nearest";
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
    throw new UsageError(`plugin: ${verb === undefined ? "missing verb" : unknownVerb(verb)}\n\n${pluginHelp()}`);
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

function unknownVerb(verb: string): string {
  const meant = nearestName(
    verb,
    pluginCommands.map(({ name }) => name.slice("plugin ".length)),
  );
  return `unknown verb ${JSON.stringify(verb)}${meant ? `; did you mean ${meant}?` : ""}`;
}
