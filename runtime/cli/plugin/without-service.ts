import { version } from "../../platform/version.ts";
import { UsageError } from "../arguments.ts";
import { exitCodeOf } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { runPlugin } from "./run.ts";

/** Only `signalbox plugin …`: the other commands belong to the package signalbox. */
export const runWithoutService = (argv: readonly string[], target: Terminal): Promise<number | null> =>
  exitCodeOf(async (terminal) => {
    const [first, ...rest] = argv;
    if (first === "plugin" || first === "plugins") return runPlugin(rest, terminal);
    if (first === "--version" || first === "-v") {
      terminal.out(`${version}\n`);
      return 0;
    }
    if (first === "--help" || first === "-h") return runPlugin(["--help"], terminal);
    const what = first === undefined ? "missing command" : `unknown command ${JSON.stringify(first)}`;
    throw new UsageError(
      `${what}: @signalbox/cli contains only \`signalbox plugin\`; for all other commands, install the package signalbox`,
    );
  }, target);
