import { listOfKinds } from "./kinds.ts";

interface PluginVerb {
  /** What stands behind the verb. */
  readonly takes: string;
  readonly about: string;
  /** Said by the help of this verb alone, in lines. */
  readonly more?: string;
}
type Verbs = Readonly<Record<string, PluginVerb>>;

/** What an author does, in the plugin's folder (the working folder where none is named). */
export const authorVerbs = {
  new: {
    takes: "<folder> [--kind <kind>]",
    about: "Make a plugin that passes its tests, of the kind tools where none is named.",
    more: `The folder's name becomes the plugin's id. Kinds:\n${listOfKinds()}`,
  },
  dev: {
    takes: "[folder] [--url <address>] [--flags]",
    about: "Build it and try it whenever a file is saved; hand it to a running Signalbox.",
    more: `Tried are the cases of its suites that do not wait for anything; what fails is shown on one screen.
  --url      the Signalbox that gets every save which is good, as a version of its own such as 0.1.0-dev.1767225600000; without
             it the one at SIGNALBOX_URL, and where neither is said none
  --key      @file that holds the API key, or - for standard input; without it SIGNALBOX_API_KEY
  --approve  approve what a save asks for; without it, one that asks for more than what serves waits
  --replay   of a source: then replay its last webhook, and show what was read and what its tasks came to. They are real:
             what they post is posted, unless the service runs with TRACKER_UPDATES_ENABLED=false
It ends with Ctrl-C. \`signalbox plugin rollback <id>\` goes back to the version before.
`,
  },
  build: { takes: "[folder]", about: "Make the one bundle and its manifest, dist/plugin.js and dist/plugin.json." },
  test: {
    takes: "[folder] [--record] [--no-build]",
    about: "Run the bundle in the sandbox through the suites of its kinds.",
    more: `  --record    ask the real other side where test/http/ has no recording, and keep what it answers
  --no-build  test what is in dist/
Exit code: 0 where every case passes, 1 where one fails. The report also stands in dist/conformance.json.
`,
  },
  pack: { takes: "[folder]", about: "Make the tarball that is published or installed, of what was built." },
} as const satisfies Verbs;

/** What an operator does, with the service that SIGNALBOX_URL names. */
export const operatorVerbs = {
  install: {
    takes: "<package[@version] | tarball | folder> [--approve]",
    about: "Store a plugin and show what it asks for. Nothing of it is run.",
  },
  list: { takes: "", about: "List the plugins and their states." },
  info: { takes: "<id>", about: "Show one with its versions." },
  permissions: {
    takes: "<id> [--narrow <host:METHOD,... | JSON>]",
    about: "Show what it may do, and what a waiting version asks for beyond that.",
    more: "--narrow leaves it these methods at these hosts alone, also in later versions; as JSON {http, operations, open_routes}.\n",
  },
  approve: { takes: "<id> [version]", about: "Allow what it asks for." },
  enable: { takes: "<id>", about: "Let it run, also after a quarantine." },
  disable: { takes: "<id>", about: "Stop it." },
  upgrade: {
    takes: "<id | package[@version] | tarball | folder>",
    about: "Install a newer version; one that asks for more waits for approval.",
  },
  rollback: { takes: "<id>", about: "Go back to the version before." },
  remove: { takes: "<id>", about: "Stop it and forget it." },
  doctor: { takes: "", about: "Say whether plugins can run here, and what is wrong with those that do not." },
  logs: { takes: "<id>", about: "Show what happened to it." },
} as const satisfies Verbs;

const all: Verbs = { ...authorVerbs, ...operatorVerbs };

/** A verb as it is written: `approve <id> [version]`. */
export const usageOf = (verb: keyof typeof authorVerbs | keyof typeof operatorVerbs): string => written(verb, all[verb]);

const written = (name: string, verb: PluginVerb | undefined): string => `${name} ${verb?.takes ?? ""}`.trimEnd();

/** Help of one verb, or of all. */
export function pluginHelp(name = ""): string {
  const verb = Object.hasOwn(all, name) ? all[name] : undefined;
  if (verb) return `Usage: signalbox plugin ${written(name, verb)}\n\n${verb.about}\n${verb.more ? `\n${verb.more}` : ""}`;
  const wide = Math.max(...Object.entries(all).map(([one, { takes }]) => `${one} ${takes}`.length));
  const lines = (verbs: Verbs) =>
    Object.entries(verbs)
      .map(([one, of]) => `  ${written(one, of).padEnd(wide)}  ${of.about}\n`)
      .join("");
  return `Usage: signalbox plugin <verb>

For authors, in the plugin's folder:
${lines(authorVerbs)}
For operators, with the service at SIGNALBOX_URL (default http://127.0.0.1:8000) and the key in SIGNALBOX_API_KEY:
${lines(operatorVerbs)}
\`signalbox plugin <verb> --help\` says more of one.
`;
}
