import { documentationOf } from "@signalbox/schema/operation";
import { version } from "../platform/version.ts";
import { commandGroups, commands } from "./commands.ts";
import type { Flag, Verb } from "./verbs.ts";

/** The list of commands: a name with the first arguments, and a sentence. */
const listed = [...commands, ...commandGroups].map(
  ({ name, args, summary }) => [`${name} ${args}`.replace(/ (\[.*)?$/, ""), summary] as const,
);

/** `signalbox --help`: all nouns with their verbs. */
export function overview(verbs: readonly Verb[]): string {
  const nouns = [...Map.groupBy(verbs, (verb) => verb.noun)].sort(([a], [b]) => (a < b ? -1 : 1));
  const width = Math.max(...nouns.map(([noun]) => noun.length), ...listed.map(([name]) => name.length));
  return `Signalbox ${version}: turns events from issue trackers and code hosts into AI-agent work.

Usage: signalbox <command>
       signalbox <noun> <verb> [<id>] [--flags]

Commands
${listed.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`).join("\n")}

Nouns and verbs of a running service
${nouns.map(([noun, of]) => `  ${noun.padEnd(width)}  ${of.map((one) => one.verb).join(", ")}`).join("\n")}

\`signalbox <noun> --help\` shows the verbs of a noun with their flags.

Environment
  SIGNALBOX_URL      address of the service; default: http://127.0.0.1:8000
  SIGNALBOX_API_KEY  API key, if the service requires one

Exit codes: 0 done, 1 failed, 2 usage error.
`;
}

/** The help of a noun (`signalbox agents --help`) or of one verb. */
export const verbsHelp = (verbs: readonly Verb[]): string => `${verbs.map(verbHelp).join("\n")}${common(verbs)}`;

export const verbUsage = ({ noun, verb, params }: Verb): string =>
  ["signalbox", noun, verb, ...params.map((name) => `<${name}>`)].join(" ");

function verbHelp(verb: Verb): string {
  const shown = verb.flags.filter((flag) => !verb.params.includes(flag.member));
  const width = Math.max(0, ...shown.map((flag) => flagText(flag).length));
  const lines = shown.map((flag) => `    ${flagText(flag).padEnd(width)}  ${describe(flag)}`.trimEnd());
  return [`${verbUsage(verb)}${shown.length > 0 ? " [--flags]" : ""}`, `    ${documentationOf(verb.op)}`, ...lines, ""].join(
    "\n",
  );
}

const placeholder: Record<Flag["kind"], string> = {
  text: " <text>",
  number: " <number>",
  boolean: "",
  list: " <text> …",
  json: " <json>",
};

const flagText = ({ name, kind, choices }: Flag): string =>
  `--${name}${choices.length > 0 ? ` <${choices.join("|")}>${kind === "list" ? " …" : ""}` : placeholder[kind]}`;

const describe = ({ required, about }: Flag): string => [required ? "(required)" : "", about].filter(Boolean).join(" ");

function common(verbs: readonly Verb[]): string {
  const keys = verbs.some((verb) => verb.noun === "keys");
  return `
Flags of every command
    --json <json>            The input as a JSON object: JSON, @file, or - for standard input. Flags override it.
    --format <json|table>    Output format. Default: a table for lists on a terminal, else JSON.
${keys ? "    --remote                 Use the service at SIGNALBOX_URL instead of the database.\n    --create                 Create a new database if there is none.\n" : ""}
…: can be repeated. <json>: JSON, @file, or - for standard input. Boolean flags have a --no-… form.
`;
}
