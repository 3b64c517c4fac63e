export interface PluginVerb {
  readonly name: string;
  readonly usage: string;
  readonly about: string;
}

/** What an author does, in the plugin's folder (the working folder where none is named). */
export const authorVerbs = [
  { name: "new", usage: "new <folder> [--kind tools|sources|memories|useCases]", about: "Make a plugin that passes its tests." },
  { name: "dev", usage: "dev [folder]", about: "Build and start it anew whenever a file is saved." },
  { name: "build", usage: "build [folder]", about: "Make the one bundle and its manifest, dist/plugin.js and dist/plugin.json." },
  {
    name: "test",
    usage: "test [folder] [--record] [--no-build]",
    about: "Run the bundle in the sandbox through the suites of its kinds.",
  },
  { name: "pack", usage: "pack [folder]", about: "Make the tarball that is published or installed." },
] as const satisfies readonly PluginVerb[];

/** What an operator does, with the service that SIGNALBOX_URL names. */
export const operatorVerbs = [
  {
    name: "install",
    usage: "install <package[@version] | tarball | folder> [--approve]",
    about: "Store a plugin and show what it asks for. Nothing of it is run.",
  },
  { name: "list", usage: "list", about: "List the plugins and their states." },
  { name: "info", usage: "info <id>", about: "Show one with its versions." },
  {
    name: "permissions",
    usage: "permissions <id> [--narrow <host:METHOD,... | JSON>]",
    about:
      "Show what it may do, and what a waiting version asks for beyond that. --narrow leaves it these methods at these hosts alone, also in later versions; as JSON {http, operations, open_routes}.",
  },
  { name: "approve", usage: "approve <id> [version]", about: "Allow what it asks for." },
  { name: "enable", usage: "enable <id>", about: "Let it run, also after a quarantine." },
  { name: "disable", usage: "disable <id>", about: "Stop it." },
  {
    name: "upgrade",
    usage: "upgrade <id | package[@version] | tarball | folder>",
    about: "Install a newer version; one that asks for more waits for approval.",
  },
  { name: "rollback", usage: "rollback <id>", about: "Go back to the version before." },
  { name: "remove", usage: "remove <id>", about: "Stop it and forget it." },
  { name: "doctor", usage: "doctor", about: "Say whether plugins can run here, and what is wrong with those that do not." },
  { name: "logs", usage: "logs <id>", about: "Show what happened to it." },
] as const satisfies readonly PluginVerb[];

/** Help of one verb, or of all. */
export function pluginHelp(verb?: string): string {
  const all: readonly PluginVerb[] = [...authorVerbs, ...operatorVerbs];
  const one = all.find(({ name }) => name === verb);
  if (one) return `Usage: signalbox plugin ${one.usage}\n\n${one.about}\n`;
  const wide = Math.max(...all.map(({ usage }) => usage.length));
  const lines = (verbs: readonly PluginVerb[]) => verbs.map(({ usage, about }) => `  ${usage.padEnd(wide)}  ${about}\n`).join("");
  return `Usage: signalbox plugin <verb>\n\nFor authors:\n${lines(authorVerbs)}\nFor operators:\n${lines(operatorVerbs)}`;
}
