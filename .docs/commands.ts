import { commands } from "../runtime/cli/commands.ts";
import { pluginCommands } from "../runtime/cli/plugin/commands.ts";
import { ownFlags, verbsOf } from "../runtime/cli/verbs.ts";
import { declaredOperations } from "../runtime/declared-operations.ts";
import { type Page, parsePage } from "./markdown.ts";
import { markdownFiles, read } from "./pages.ts";

/** A command, request or setting that a page names, and where. */
interface Mention {
  readonly text: string;
  readonly where: string;
}

/** What a page names and what there is not: npm scripts, commands, flags, operations, settings. */
export function unknownNames(): string[] {
  return markdownFiles()
    .filter((page) => page !== "CHANGELOG.md")
    .flatMap((page) => {
      const parsed = parsePage(read(page));
      const code = codeOf(page, parsed);
      const prose: Mention = { text: parsed.prose, where: page };
      return [
        ...code.flatMap(unknownScripts),
        ...code.flatMap(unknownCommands),
        ...[...code, prose].flatMap(unknownOperations),
        ...code.flatMap(unknownSettings),
      ];
    })
    .filter((problem, index, all) => all.indexOf(problem) === index);
}

const shells = ["", "sh", "bash", "console"];

/** Lines of the shell blocks, and code in the prose. */
function codeOf(page: string, { fences, prose }: Page): Mention[] {
  const blocks = fences
    .filter(({ language }) => shells.includes(language))
    .flatMap(({ text, line }) =>
      text
        .replace(/\\\n */g, (joined) => joined.replace(/[\\\n]/g, " "))
        .split("\n")
        .map((one, index) => ({ text: one.replace(/(^|\s)# .*/, ""), where: `${page}:${line + index + 1}` })),
    );
  const inline = prose
    .split("\n")
    .flatMap((text, index) =>
      [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => ({ text: code, where: `${page}:${index + 1}` })),
    );
  return [...blocks, ...inline];
}

const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
/** Scripts of the plugins that `plugin new` makes. */
const theirs = Object.keys(
  (JSON.parse(read("runtime/cli/plugin/templates/every/package.json")) as typeof import("../package.json")).scripts,
);

const unknownScripts = ({ text, where }: Mention): string[] =>
  [...text.matchAll(/\bnpm run (?:--silent )?([a-z][a-z:]*)/g)]
    .filter(([, name = ""]) => !scripts[name] && !theirs.includes(name))
    .map(([command]) => `${where}: there is no script for ${command}`);

const verbs = verbsOf(declaredOperations().map(({ op }) => op)).filter(({ noun }) => noun !== "plugins");
const flagsIn = (text: string): string[] => [...text.matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)].map(([, name = ""]) => name);

function unknownCommands({ text, where }: Mention): string[] {
  return [...text.matchAll(/(?:^\s*|[;|&(]\s*|npx (?:--no-install )?)signalbox ([a-z][a-z-]*)((?: [^|;&)]*)?)/g)].flatMap(
    ([, first = "", rest = ""]) => {
      const [second = ""] = rest.trim().split(/\s+/);
      const allowed = flagsOf(first, second);
      if (allowed === null) return [`${where}: there is no command signalbox ${first} ${second}`.trimEnd()];
      const bad = flagsIn(rest).filter((flag) => !allowed.includes(flag.replace(/^no-/, "")) && !allowed.includes(flag));
      return bad.map((flag) => `${where}: signalbox ${first} ${second} has no flag --${flag}`);
    },
  );
}

/** The flags of a command; `null` if there is no such command. */
function flagsOf(first: string, second: string): string[] | null {
  const isWord = /^[a-z][a-z-]*$/.test(second);
  if (first === "help") return ["help"];
  const words = first === "plugins" ? `plugin ${second}` : `${first} ${second}`;
  const command = [...commands, ...pluginCommands].find(({ name }) => name === words || (name === first && second !== "get"));
  if (command) return [...flagsIn(`${command.args} ${command.details ?? ""}`), "help"];
  if (first === "plugin" || first === "plugins") return isWord ? null : ["help"];
  const ofNoun = verbs.filter(({ noun }) => noun === first);
  const verb = ofNoun.find((one) => one.verb === second);
  if (verb) return [...verb.flags.flatMap(({ name, alias }) => (alias ? [name, alias] : [name])), ...ownFlags];
  return ofNoun.length > 0 && !isWord ? ["help"] : first === "audit" && second === "verify" ? ["help"] : null;
}

const { paths } = JSON.parse(read("schema/gen/openapi.json")) as { paths: Record<string, Record<string, unknown>> };
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => ({ method, segments: path.split("/") })),
);

/** `POST /api/agents/ID/capabilities`: each segment as declared, or where a parameter is declared anything. */
function unknownOperations({ text, where }: Mention): string[] {
  return [...text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/api\/[^\s`'"|,;)…]*)/g)]
    .map(([all, method = "", path = ""]) => ({ all, method: method.toLowerCase(), path: path.replace(/[.?#].*$/, "") }))
    .filter(({ method, path }) => {
      const asked = path.replace(/\/$/, "").split("/");
      return !operations.some(
        ({ method: is, segments }) =>
          is === method &&
          segments.length === asked.length &&
          segments.every((one, i) => one.startsWith("{") || one === asked[i]),
      );
    })
    .map(({ all }) => `${where}: there is no operation ${all}`);
}

const known = new Set([...read("schema/gen/configuration.md").matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name = ""]) => name));
/** Settings that are not the service's, by their beginning. */
const others =
  /^(AGENT_SECRET$|CODING_|CONNECTOR_EVENTS$|GITHUB_TOKEN$|INSTALLATION_KEY$|TEST_|FUZZ_|CHAOS_|BENCH_|RECORDED_|CI_|PLUGIN_|BUDGET_|SIGNALBOX_|POSTGRES_|PG|NODE_|NPM_|OTEL_|MCP_|UPGRADE_|IMAGE)/;

const unknownSettings = ({ text, where }: Mention): string[] =>
  [...text.matchAll(/(?<![\w$\]-])([A-Z][A-Z0-9]*_[A-Z0-9_]+)=/g)]
    .map(([, name = ""]) => name)
    .filter((name) => !known.has(name) && !others.test(name) && !/^(REQUIRE_SERVICES)$/.test(name))
    .map((name) => `${where}: there is no setting ${name}`);
