import type { Command } from "../command.ts";
import { listOfKinds } from "./kinds.ts";
import { ownershipFlags } from "./ownership.ts";

/** The function is loaded only when it is called, because not every command needs the bundler or the schema. */
const author = (verb: keyof typeof import("./author.ts").author, rest: Omit<Command, "name" | "run">): Command => ({
  ...rest,
  name: `plugin ${verb}`,
  run: async (...given) => (await import("./author.ts")).author[verb](...given),
});
const operator = (
  verb: Parameters<typeof import("./operator.ts").runOperator>[0],
  rest: Omit<Command, "name" | "run">,
): Command => ({
  ...rest,
  name: `plugin ${verb}`,
  run: async (...given) => (await import("./operator.ts")).runOperator(verb, ...given),
});

/** Commands of authors, in the plugin's folder. Default: the working folder. */
const forAuthors: readonly Command[] = [
  author("new", {
    args: "<folder> [--kind <kind>] [--license <id>] [--repository <url>]",
    options: { kind: { type: "string" }, ...ownershipFlags },
    summary: "Create a plugin that passes its tests. Default kind: tools.",
    details: `The folder's name becomes the plugin's id. At a terminal, it asks for the license (default: MIT) and the repository. Kinds:\n${listOfKinds()}`,
  }),
  author("dev", {
    args: "[folder] [--url <address>] [--flags]",
    options: { url: { type: "string" }, key: { type: "string" }, approve: { type: "boolean" }, replay: { type: "boolean" } },
    summary: "Build and test the plugin each time you save, and install builds that pass in a running service.",
    details: `Runs the fast cases of its suites and shows failures on one screen.
  --url      install each build that passes in this service, as a version such as 0.1.0-dev.1767225600000. Default:
             SIGNALBOX_URL; if that is not set either, builds are not installed
  --key      @file with the API key, or - for standard input. Default: SIGNALBOX_API_KEY
  --approve  approve new permissions at once. Default: a build that requests more than the active version waits
  --replay   for a source: replay its latest webhook after each install, and show the event and the results of its
             tasks. They really run and post, unless the service has TRACKER_UPDATES_ENABLED=false
Ctrl-C ends it. To return to the previous version: signalbox plugin rollback <id>.
`,
  }),
  author("build", { args: "[folder]", summary: "Build the bundle dist/plugin.js and its manifest dist/plugin.json." }),
  author("test", {
    args: "[folder] [--only <text>] [--record] [--no-build]",
    options: { only: { type: "string" }, record: { type: "boolean" }, "no-build": { type: "boolean" } },
    summary: "Run the conformance suites against the bundle in the sandbox.",
    details: `  --only      run only cases whose name contains this text, for example "verify"; writes no report
  --record    send requests without a recording in test/http/ to the real server, and record the responses
  --no-build  test the build in dist/
Exit code: 0 if every case passes, otherwise 1. The report is also written to dist/conformance.json.
`,
  }),
  author("pack", { args: "[folder]", summary: "Pack the build as a tarball to publish or install." }),
];

/** Commands of operators, which use the service at SIGNALBOX_URL. */
const forOperators: readonly Command[] = [
  operator("search", {
    args: "[words] [--reports]",
    options: { reports: { type: "boolean" } },
    summary: "Find plugins in npm's registry and show the permissions that each requests.",
    details: `Searches packages with the keyword signalbox-plugin. Needs no service and runs no package code.
  --reports  download the packages and show their conformance reports, if they match the bundle
`,
  }),
  operator("install", {
    args: "<package[@version] | tarball | folder> [--approve]",
    options: { approve: { type: "boolean" } },
    summary: "Store a plugin and show the permissions that it requests. Nothing runs before it is approved.",
  }),
  operator("list", { args: "", summary: "List plugins and their states." }),
  operator("info", { args: "<id>", summary: "Show a plugin with its versions." }),
  operator("permissions", {
    args: "<id> [--narrow <host:METHOD,... | JSON>]",
    options: { narrow: { type: "string" } },
    summary: "Show a plugin's permissions, and those that a waiting version requests in addition.",
    details:
      "--narrow restricts it to these methods and hosts, also in later versions. JSON form: {http, operations, open_routes}.\n",
  }),
  operator("approve", { args: "<id> [version]", summary: "Approve a version with its permissions." }),
  operator("enable", { args: "<id>", summary: "Start a plugin, even after a quarantine." }),
  operator("disable", { args: "<id>", summary: "Stop a plugin." }),
  operator("configure", {
    args: "<id> --settings <JSON | @file | ->",
    options: { settings: { type: "string" } },
    summary: "Set settings and secrets. They are refused if the plugin does not start with them.",
  }),
  operator("upgrade", {
    args: "<id | package[@version] | tarball | folder>",
    summary: "Install a newer version. A version that requests more, or checks less, waits for approval.",
  }),
  operator("rollback", { args: "<id>", summary: "Go back to the last approved version that was not rolled back." }),
  operator("remove", { args: "<id>", summary: "Remove a plugin with its settings." }),
  operator("doctor", { args: "", summary: "Show the isolation layers, and why plugins do not run." }),
  operator("logs", { args: "<id>", summary: "Show a plugin's log." }),
];

export const pluginCommands: readonly Command[] = [...forAuthors, ...forOperators];

/** Help of all commands. */
export function pluginHelp(): string {
  const usage = ({ name, args }: Command) => `${name} ${args}`.slice("plugin ".length);
  const wide = Math.max(...pluginCommands.map((one) => usage(one).length));
  const lines = (all: readonly Command[]) =>
    all.map((one) => `  ${usage(one).trimEnd().padEnd(wide)}  ${one.summary}\n`).join("");
  return `Usage: signalbox plugin <verb>

For authors, in the plugin's folder:
${lines(forAuthors)}
For operators, with the service at SIGNALBOX_URL (default http://127.0.0.1:8000) and the key in SIGNALBOX_API_KEY:
${lines(forOperators)}
\`signalbox plugin <verb> --help\` shows the help of a verb.
`;
}
