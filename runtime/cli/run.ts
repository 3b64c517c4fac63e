import { version } from "../platform/version.ts";
import { readArguments, UsageError } from "./arguments.ts";
import { exitCodeOf } from "./exit-code.ts";
import { helpOf, overview, usageOf } from "./help.ts";
import { operatorCommands, runOperatorCommand } from "./operate.ts";
import { asJson, asTable } from "./output.ts";
import { type Answer, namedService, request } from "./request.ts";
import type { Terminal } from "./terminal.ts";
import { type Verb, verbsOf } from "./verbs.ts";

/** Runs one command and returns its exit code; `null`: the service keeps running. */
export const run = (argv: readonly string[], terminal: Terminal): Promise<number | null> =>
  exitCodeOf((safe) => runCommand(argv, safe), terminal);

async function runCommand([command, ...args]: readonly string[], terminal: Terminal): Promise<number | null> {
  if (command === "--version" || command === "-v") return say(terminal, `${version}\n`);
  const wantsHelp = args.includes("--help") || args.includes("-h");
  if (command === "migrate") return migrate(args, wantsHelp, terminal);
  if (command === "start") return start(args, wantsHelp, terminal);
  // `status` is also a noun: `signalbox status get` is its operation.
  if (command !== undefined && Object.hasOwn(operatorCommands, command) && args[0] !== "get")
    return runOperatorCommand(command, args, terminal);
  // The other nouns are plural, so the plural is accepted too.
  if (command === "plugin" || command === "plugins") return (await import("./plugin/command.ts")).runPlugin(args, terminal);
  if (command === "reembed") return reembed(args, wantsHelp, terminal);
  if (command === "doctor") return doctor(args, wantsHelp, terminal);
  if (command === "memory" && (args[0] === "export" || args[0] === "import"))
    return wantsHelp ? say(terminal, `${transferUsage}\n`) : transfer(args, terminal);
  const { declaredOperations } = await import("../declared-operations.ts");
  const verbs = verbsOf(
    declaredOperations()
      .map(({ op }) => op)
      .filter(({ id }) => !id.startsWith("plugins.")),
  );
  if (command === "--help" || command === "-h" || command === "help") return say(terminal, overview(verbs));
  if (command === undefined) {
    terminal.err(overview(verbs));
    return 2;
  }
  return runNoun(command, args, verbs, terminal);
}

const configurationHint = "the configuration is in the environment and .env.";

async function start(rest: readonly string[], wantsHelp: boolean, terminal: Terminal): Promise<number | null> {
  if (wantsHelp) return say(terminal, `Usage: signalbox start\n\nIt takes no arguments; ${configurationHint}\n`);
  if (rest.length > 0) throw new UsageError(`signalbox start takes no arguments; ${configurationHint}`);
  await import("../main.ts");
  return null;
}

async function reembed(rest: readonly string[], wantsHelp: boolean, terminal: Terminal): Promise<number> {
  const usage = "Usage: signalbox reembed\n\nStop the service first. If interrupted, run it again to resume.\n";
  if (wantsHelp) return say(terminal, usage);
  if (rest.length > 0) throw new UsageError(`signalbox reembed takes no arguments; ${configurationHint}`);
  await (await import("./memory.ts")).runReembed(terminal.interactive, terminal.out, terminal.err);
  return 0;
}

async function migrate(rest: readonly string[], wantsHelp: boolean, terminal: Terminal): Promise<number> {
  const flag = "--create creates the embedded database if there is none;";
  if (wantsHelp) return say(terminal, `Usage: signalbox migrate [--create]\n\n${flag} ${configurationHint}\n`);
  const create = rest[0] === "--create";
  if (rest.length > (create ? 1 : 0)) throw new UsageError(`signalbox migrate takes only --create; ${configurationHint}`);
  const applied = await (await import("./local.ts")).runMigrate(create, terminal.err);
  return say(terminal, applied === 0 ? "The database is up to date.\n" : `${applied} migrations applied.\n`);
}

async function doctor(rest: readonly string[], wantsHelp: boolean, terminal: Terminal): Promise<number> {
  if (wantsHelp) return say(terminal, "Usage: signalbox doctor\n\nExit code 1 if it finds problems.\n");
  if (rest.length > 0) throw new UsageError("signalbox doctor takes no arguments.");
  return (await (await import("./doctor.ts")).runDoctor(namedService(), terminal.out)) ? 0 : 1;
}

const transferUsage = "Usage: signalbox memory export > <file>, or signalbox memory import <file> (- for standard input)";

async function transfer([direction, file, ...more]: readonly string[], terminal: Terminal): Promise<number> {
  const { runExport, runImport } = await import("./memory.ts");
  if (more.length > 0 || (direction === "export") === (file !== undefined)) throw new UsageError(transferUsage);
  if (file === undefined) return runExport(terminal.out, terminal.err).then(() => 0);
  return (await runImport(file, terminal.out, terminal.err)) ? 0 : 1;
}

async function runNoun(noun: string, [name, ...args]: string[], verbs: readonly Verb[], terminal: Terminal): Promise<number> {
  const ofNoun = verbs.filter((verb) => verb.noun === noun);
  if (ofNoun.length === 0) throw new UsageError(`unknown command ${JSON.stringify(noun)}; see signalbox --help`);
  if (name === "--help" || name === "-h") return say(terminal, helpOf(ofNoun));
  const verb = ofNoun.find((one) => one.verb === name);
  if (!verb) {
    const known = ofNoun.map((one) => one.verb).join(", ");
    throw new UsageError(`${noun}: ${name ? `unknown verb ${JSON.stringify(name)}` : "missing verb"}; expected one of ${known}`);
  }
  const parsedArgs = await readArguments(verb, args, terminal.read).catch((error) => {
    throw error instanceof UsageError ? new UsageError(`${error.message}\nSee ${usageOf(verb)} --help.`) : error;
  });
  if (parsedArgs.help) return say(terminal, helpOf([verb]));
  const local = noun === "keys" && !parsedArgs.remote;
  const answer = local
    ? await (await import("./local.ts")).runOnKeys(verb.op, parsedArgs.input, { create: parsedArgs.create, write: terminal.err })
    : await request(verb.op, parsedArgs.input, namedService(), terminal.out);
  print(verb, answer, parsedArgs.format, terminal);
  if (verb.op.id === "keys.create") terminal.err("Save the key now. It is not shown again.\n");
  return 0;
}

function print(verb: Verb, { value, total, nextCursor }: Answer, format: "json" | "table" | null, terminal: Terminal): void {
  if (value === undefined) return;
  const wanted = format ?? (terminal.interactive && verb.op.paginated ? "table" : "json");
  if (wanted === "json" || !verb.op.paginated) {
    terminal.out(asJson(value));
    return;
  }
  const rows = value as Record<string, unknown>[];
  if (rows.length === 0) {
    terminal.err("Nothing found.\n");
    return;
  }
  terminal.out(asTable(verb.op, rows, terminal.columns));
  if (nextCursor) terminal.err(`${rows.length} of ${total}; next page: --cursor ${nextCursor}\n`);
  else if (total !== null && Number.parseInt(total, 10) > rows.length)
    terminal.err(`${rows.length} of ${total}; use --limit and --offset for the others\n`);
}

function say(terminal: Terminal, text: string): number {
  terminal.out(text);
  return 0;
}
