import { listOfKinds } from "./kinds.ts";

interface PluginVerb {
  /** Arguments of the verb. */
  readonly args: string;
  readonly about: string;
  /** Lines that only this verb's help shows. */
  readonly details?: string;
}
type Verbs = Readonly<Record<string, PluginVerb>>;

/** Verbs of authors, in the plugin's folder. Default: the working folder. */
export const authorVerbs = {
  new: {
    args: "<folder> [--kind <kind>] [--license <id>] [--repository <url>]",
    about: "Create a plugin that passes its tests. Default kind: tools.",
    details: `The folder's name becomes the plugin's id. At a terminal, it asks for the license (default: MIT) and the repository. Kinds:\n${listOfKinds()}`,
  },
  dev: {
    args: "[folder] [--url <address>] [--flags]",
    about: "Build and test the plugin each time you save, and install builds that pass in a running service.",
    details: `Runs the fast cases of its suites and shows failures on one screen.
  --url      install each build that passes in this service, as a version such as 0.1.0-dev.1767225600000. Default:
             SIGNALBOX_URL; if that is not set either, builds are not installed
  --key      @file with the API key, or - for standard input. Default: SIGNALBOX_API_KEY
  --approve  approve new permissions at once. Default: a build that requests more than the active version waits
  --replay   for a source: replay its latest webhook after each install, and show the event and the results of its
             tasks. They really run and post, unless the service has TRACKER_UPDATES_ENABLED=false
Ctrl-C ends it. To return to the previous version: signalbox plugin rollback <id>.
`,
  },
  build: { args: "[folder]", about: "Build the bundle dist/plugin.js and its manifest dist/plugin.json." },
  test: {
    args: "[folder] [--only <text>] [--record] [--no-build]",
    about: "Run the conformance suites against the bundle in the sandbox.",
    details: `  --only      run only cases whose name contains this text, for example "verify"; writes no report
  --record    send requests without a recording in test/http/ to the real server, and record the responses
  --no-build  test the build in dist/
Exit code: 0 if every case passes, otherwise 1. The report is also written to dist/conformance.json.
`,
  },
  pack: { args: "[folder]", about: "Pack the build as a tarball to publish or install." },
} as const satisfies Verbs;

/** Verbs of operators, which use the service at SIGNALBOX_URL. */
export const operatorVerbs = {
  search: {
    args: "[words] [--reports]",
    about: "Find plugins in npm's registry and show the permissions that each requests.",
    details: `Searches packages with the keyword signalbox-plugin. Needs no service and runs no package code.
  --reports  download the packages and show their conformance reports, if they match the bundle
`,
  },
  install: {
    args: "<package[@version] | tarball | folder> [--approve]",
    about: "Store a plugin and show the permissions that it requests. Nothing runs before it is approved.",
  },
  list: { args: "", about: "List plugins and their states." },
  info: { args: "<id>", about: "Show a plugin with its versions." },
  permissions: {
    args: "<id> [--narrow <host:METHOD,... | JSON>]",
    about: "Show a plugin's permissions, and those that a waiting version requests in addition.",
    details:
      "--narrow restricts it to these methods and hosts, also in later versions. JSON form: {http, operations, open_routes}.\n",
  },
  approve: { args: "<id> [version]", about: "Approve a version with its permissions." },
  enable: { args: "<id>", about: "Start a plugin, even after a quarantine." },
  disable: { args: "<id>", about: "Stop a plugin." },
  configure: {
    args: "<id> --settings <JSON | @file | ->",
    about: "Set settings and secrets. They are refused if the plugin does not start with them.",
  },
  upgrade: {
    args: "<id | package[@version] | tarball | folder>",
    about: "Install a newer version. A version that requests more, or checks less, waits for approval.",
  },
  rollback: { args: "<id>", about: "Go back to the last approved version that was not rolled back." },
  remove: { args: "<id>", about: "Remove a plugin with its settings." },
  doctor: { args: "", about: "Show the isolation layers, and why plugins do not run." },
  logs: { args: "<id>", about: "Show a plugin's log." },
} as const satisfies Verbs;

const verbs: Verbs = { ...authorVerbs, ...operatorVerbs };

/** Usage of a verb: `approve <id> [version]`. */
export const usageOf = (verb: keyof typeof authorVerbs | keyof typeof operatorVerbs): string => usageLine(verb, verbs[verb]);

const usageLine = (name: string, verb: PluginVerb | undefined): string => `${name} ${verb?.args ?? ""}`.trimEnd();

/** Help of one verb, or of all. */
export function pluginHelp(name = ""): string {
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb)
    return `Usage: signalbox plugin ${usageLine(name, verb)}\n\n${verb.about}\n${verb.details ? `\n${verb.details}` : ""}`;
  const wide = Math.max(...Object.entries(verbs).map(([one, { args }]) => `${one} ${args}`.length));
  const lines = (verbs: Verbs) =>
    Object.entries(verbs)
      .map(([one, of]) => `  ${usageLine(one, of).padEnd(wide)}  ${of.about}\n`)
      .join("");
  return `Usage: signalbox plugin <verb>

For authors, in the plugin's folder:
${lines(authorVerbs)}
For operators, with the service at SIGNALBOX_URL (default http://127.0.0.1:8000) and the key in SIGNALBOX_API_KEY:
${lines(operatorVerbs)}
\`signalbox plugin <verb> --help\` shows the help of a verb.
`;
}
