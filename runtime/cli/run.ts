import type { verify } from "@signalbox/schema/audit-log";
import { nearestName } from "@signalbox/schema/nearest";
import type { Output } from "@signalbox/schema/operation";
import { version } from "../platform/version.ts";
import { readArguments, UsageError } from "./arguments.ts";
import { runCommand } from "./command.ts";
import { commandGroups, commands } from "./commands.ts";
import { exitCodeOf } from "./exit-code.ts";
import { overview, verbsHelp, verbUsage } from "./help.ts";
import { operatorCommands } from "./operate.ts";
import { asJson, asTable } from "./output.ts";
import { type Answer, namedService, request } from "./request.ts";
import type { Terminal } from "./terminal.ts";
import { type Verb, verbsOf } from "./verbs.ts";

/** Runs one command and returns its exit code; `null`: the service keeps running. */
export const run = (argv: readonly string[], terminal: Terminal): Promise<number | null> =>
  exitCodeOf((safe) => runWords(argv, safe), terminal);

async function runWords([word, ...args]: readonly string[], terminal: Terminal): Promise<number | null> {
  if (word === "--version" || word === "-v") return say(terminal, `${version}\n`);
  const command = commands.find(({ name }) => name === word || name === `${word} ${args[0]}`);
  // `status` is also a noun: `signalbox status get` is its operation.
  if (command && !(operatorCommands.includes(command) && args[0] === "get"))
    return runCommand(command, command.name === word ? args : args.slice(1), terminal);
  // The other nouns are plural, so the plural is accepted too.
  if (word === "plugin" || word === "plugins") return (await import("./plugin/run.ts")).runPlugin(args, terminal);
  const { declaredOperations } = await import("../declared-operations.ts");
  const verbs = verbsOf(
    declaredOperations()
      .map(({ op }) => op)
      .filter(({ id }) => !id.startsWith("plugins.")),
  );
  if (word === "--help" || word === "-h" || word === "help") return say(terminal, overview(verbs));
  if (word === undefined) {
    terminal.err(overview(verbs));
    return 2;
  }
  return runNoun(word, args, verbs, terminal);
}

async function runNoun(noun: string, [name, ...args]: string[], verbs: readonly Verb[], terminal: Terminal): Promise<number> {
  const ofNoun = verbs.filter((verb) => verb.noun === noun);
  if (ofNoun.length === 0) {
    const meant = commandsLike(noun, name, verbs);
    const suggestion = meant.length > 0 ? `; did you mean ${meant.join(" or ")}?\nSee` : "; see";
    throw new UsageError(`unknown command ${JSON.stringify(noun)}${suggestion} signalbox --help`);
  }
  if (name === "--help" || name === "-h") return say(terminal, verbsHelp(ofNoun));
  const verb = ofNoun.find((one) => one.verb === name);
  if (!verb) {
    const known = ofNoun.map((one) => one.verb).join(", ");
    const problem = name ? `unknown verb ${JSON.stringify(name)}` : "missing verb";
    const meant = verbOfCommand.get(name ?? "") ?? name;
    const elsewhere = verbs.find((one) => one.verb === meant && (one.noun === noun || isRelated(one.noun, noun)));
    const suggestion = elsewhere ? `; did you mean ${verbUsage(elsewhere)}?` : "";
    throw new UsageError(`${noun}: ${problem}; expected one of ${known}${suggestion}`);
  }
  const parsedArgs = await readArguments(verb, args, terminal.read).catch((error) => {
    throw error instanceof UsageError ? new UsageError(`${error.message}\nSee ${verbUsage(verb)} --help.`) : error;
  });
  if (parsedArgs.help) return say(terminal, verbsHelp([verb]));
  const local = noun === "keys" && !parsedArgs.remote;
  const answer = local
    ? await (await import("./local.ts")).runOnKeys(verb.op, parsedArgs.input, { create: parsedArgs.create, write: terminal.err })
    : await request(verb.op, parsedArgs.input, namedService(), terminal.out);
  print(verb, answer, parsedArgs.format, terminal);
  if (verb.op.id === "keys.create") terminal.err("Save the key now. It is not shown again.\n");
  // A scheduled job checks the exit code.
  if (verb.op.id === "audit.verify" && (answer.value as Output<typeof verify>).state === "broken") {
    terminal.err("The audit log is broken: an entry was changed, removed or added.\n");
    return 1;
  }
  return answer.isFailure ? 1 : 0;
}

/** The verbs that do the same as the commands in comments. */
const verbOfCommand = new Map([
  ["retry", "restart"],
  ["continue", "release"],
  ["stop", "cancel"],
]);

/** The commands and nouns that an unknown one probably means: those that share a word with it, or one with a similar name. */
function commandsLike(noun: string, verb: string | undefined, verbs: readonly Verb[]): string[] {
  const nouns = [...new Set(verbs.map((one) => one.noun))];
  const related = nouns.filter((one) => isRelated(one, noun));
  const withVerb = related.filter((one) => verbs.some((known) => known.noun === one && known.verb === verb));
  if (related.length > 0) return withVerb.length > 0 ? withVerb : related;
  return [nearestName(noun, [...[...commands, ...commandGroups].map(({ name }) => name), ...nouns]) ?? []].flat();
}

/** Whether two nouns share a word, in singular or plural: `events` and `webhook-events`. */
function isRelated(a: string, b: string): boolean {
  const [first, second] = [a, b].map((noun) => noun.split("-").map((word) => word.replace(/s$/, "")));
  return first?.some((word) => second?.includes(word)) === true;
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
