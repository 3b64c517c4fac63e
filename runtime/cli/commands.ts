import { amountText } from "../platform/amount-text.ts";
import { UsageError } from "./arguments.ts";
import type { Command, Given } from "./command.ts";
import { operatorCommands } from "./operate.ts";
import { namedServiceInTime } from "./request.ts";

const configurationHint = "the configuration is in the environment and .env.";
const transferUsage = "Usage: signalbox memory export > <file>, or signalbox memory import <file> (- for standard input)";

/** The commands that are not operations, except those of `signalbox plugin`. */
export const commands: readonly Command[] = [
  ...operatorCommands,
  {
    name: "start",
    args: "",
    summary: "Run the service, configured by the environment and .env.",
    help: `Usage: signalbox start\n\nIt takes no arguments; ${configurationHint}\n`,
    refusal: `signalbox start takes no arguments; ${configurationHint}`,
    run: async (given, _terminal, command) => {
      requireNoPositionals(given, command);
      await import("../main.ts");
      return null;
    },
  },
  {
    name: "migrate",
    args: "[--create]",
    summary: "Apply missing migrations and exit. `start` also does this. --create: also create the embedded database.",
    help: `Usage: signalbox migrate [--create]\n\n--create creates the embedded database if there is none; ${configurationHint}\n`,
    options: { create: { type: "boolean" } },
    refusal: `signalbox migrate takes only --create; ${configurationHint}`,
    run: async (given, { out, err }, command) => {
      requireNoPositionals(given, command);
      const applied = await (await import("./local.ts")).runMigrate(given.flags.has("create"), err);
      out(applied === 0 ? "The database is up to date.\n" : `${amountText(applied, "migration")} applied.\n`);
      return 0;
    },
  },
  {
    name: "reembed",
    args: "",
    summary: "Recompute all embeddings after EMBEDDING_MODEL or EMBEDDING_DIMENSION changes. Resumes if interrupted.",
    help: "Usage: signalbox reembed\n\nStop the service first. If interrupted, run it again to resume.\n",
    refusal: `signalbox reembed takes no arguments; ${configurationHint}`,
    run: async (given, { interactive, out, err }, command) => {
      requireNoPositionals(given, command);
      await (await import("./memory.ts")).runReembed(interactive, out, err);
      return 0;
    },
  },
  {
    name: "doctor",
    args: "",
    summary: "Print what is wrong with the configuration of a running service: triggers without tasks, failed checks.",
    help: "Usage: signalbox doctor\n\nExit code 1 if it finds problems.\n",
    refusal: "signalbox doctor takes no arguments.",
    run: async (given, { out }, command) => {
      requireNoPositionals(given, command);
      return (await (await import("./doctor.ts")).runDoctor(namedServiceInTime(), out)) ? 0 : 1;
    },
  },
  {
    name: "memory export",
    args: "",
    summary: "Print all memories as JSON Lines.",
    help: `${transferUsage}\n`,
    refusal: transferUsage,
    run: async (given, { out, err }, command) => {
      requireNoPositionals(given, command);
      await (await import("./memory.ts")).runExport(out, err);
      return 0;
    },
  },
  {
    name: "memory import",
    args: "<file>",
    summary: "Import the output of export; - reads standard input.",
    help: `${transferUsage}\n`,
    refusal: transferUsage,
    run: async ({ positionals: [file, ...more] }, { out, err }) => {
      if (file === undefined || more.length > 0) throw new UsageError(transferUsage);
      return (await (await import("./memory.ts")).runImport(file, out, err)) ? 0 : 1;
    },
  },
];

/** The words that have verbs of their own, as the list of commands shows them. */
export const commandGroups: readonly Pick<Command, "name" | "args" | "summary">[] = [
  { name: "keys", args: "", summary: "Create, list and revoke API keys directly in the database." },
  {
    name: "plugin",
    args: "",
    summary:
      "Write plugins (new, dev, build, test, pack) and operate them (list, install, approve, …). See signalbox plugin --help.",
  },
];

function requireNoPositionals({ positionals }: Given, { refusal }: Command): void {
  if (positionals.length > 0) throw new UsageError(refusal);
}
