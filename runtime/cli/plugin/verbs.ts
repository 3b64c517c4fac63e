import { listOfKinds } from "./kinds.ts";

interface PluginVerb {
  /** Arguments of the verb. */
  readonly takes: string;
  readonly about: string;
  /** Said by the help of this verb alone, in lines. */
  readonly more?: string;
}
type Verbs = Readonly<Record<string, PluginVerb>>;

/** Verbs of authors, in the plugin's folder. Default: the working folder. */
export const authorVerbs = {
  new: {
    takes: "<folder> [--kind <kind>] [--license <id>] [--repository <url>]",
    about: "Create a plugin that passes its tests. Default kind: tools.",
    more: `The folder's name becomes the plugin's id. License (default: MIT) and repository are asked at a terminal. Kinds:\n${listOfKinds()}`,
  },
  dev: {
    takes: "[folder] [--url <address>] [--flags]",
    about: "Build and test the plugin at every save; install good builds in a running service.",
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
  build: { takes: "[folder]", about: "Build the bundle dist/plugin.js and its manifest dist/plugin.json." },
  test: {
    takes: "[folder] [--only <text>] [--record] [--no-build]",
    about: "Run the conformance suites against the bundle in the sandbox.",
    more: `  --only      run only the cases with this text in their name, for example "verify"; nothing is written
  --record    ask the real other side where test/http/ has no recording, and keep what it answers
  --no-build  test what is in dist/
Exit code: 0 if every case passes, otherwise 1. The report is also written to dist/conformance.json.
`,
  },
  pack: { takes: "[folder]", about: "Pack the build as a tarball to publish or install." },
} as const satisfies Verbs;

/** Verbs of operators, with the service at SIGNALBOX_URL. */
export const operatorVerbs = {
  search: {
    takes: "[words] [--reports]",
    about: "Find plugins in the registry that npm is configured for, with what each asks for.",
    more: `Searches packages with the keyword signalbox-plugin. It needs no service and runs nothing of a package.
  --reports  download the packages and show their conformance reports, if they are about this bundle
`,
  },
  install: {
    takes: "<package[@version] | tarball | folder> [--approve]",
    about: "Store a plugin and show the permissions that it asks for. Nothing runs before an approval.",
  },
  list: { takes: "", about: "List plugins and their states." },
  info: { takes: "<id>", about: "Show a plugin with its versions." },
  permissions: {
    takes: "<id> [--narrow <host:METHOD,... | JSON>]",
    about: "Show a plugin's permissions, and what a waiting version asks for in addition.",
    more: "--narrow leaves it these methods at these hosts alone, also in later versions; as JSON {http, operations, open_routes}.\n",
  },
  approve: { takes: "<id> [version]", about: "Approve a version with its permissions." },
  enable: { takes: "<id>", about: "Start a plugin, also after a quarantine." },
  disable: { takes: "<id>", about: "Stop a plugin." },
  configure: {
    takes: "<id> --settings <JSON | @file | ->",
    about: "Set settings and secrets. Settings with which the plugin does not start are refused.",
  },
  upgrade: {
    takes: "<id | package[@version] | tarball | folder>",
    about: "Install a newer version. One that asks for more, or checks less, waits for an approval.",
  },
  rollback: { takes: "<id>", about: "Go back to the last approved version that was not rolled back." },
  remove: { takes: "<id>", about: "Remove a plugin with its settings." },
  doctor: { takes: "", about: "Show the isolation layers, and what is wrong with plugins that do not run." },
  logs: { takes: "<id>", about: "Show a plugin's log." },
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
\`signalbox plugin <verb> --help\` shows the help of a verb.
`;
}
