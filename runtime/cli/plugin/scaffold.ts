import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { makeFolder } from "../../platform/make-folder.ts";
import { version } from "../../platform/version.ts";
import { UsageError } from "../arguments.ts";
import { kinds, listOfKinds } from "./kinds.ts";
import { licenseText, type Ownership } from "./ownership.ts";
import { PackageError } from "./package-error.ts";

/** Files that have another name among the templates, because npm and git would process them there. */
const places: Readonly<Record<string, string>> = {
  gitignore: ".gitignore",
  "publish.yml": ".github/workflows/publish.yml",
  "vscode.json": ".vscode/settings.json",
};
const placeholder = "my-plugin";

/** Creates a plugin of one kind in a new or empty folder. The folder's name becomes the plugin's id. */
export function scaffold(options: { folder: string; kind: string } & Partial<Ownership>): { folder: string; files: string[] } {
  const { folder, kind } = options;
  const ownership = { license: options.license ?? "MIT", repository: options.repository ?? null };
  if (!Object.hasOwn(kinds, kind))
    throw new UsageError(`--kind: must be one of the kinds below; it is ${JSON.stringify(kind)}\n${listOfKinds().trimEnd()}`);
  const target = resolve(folder);
  const id = basename(target).replace(/^signalbox-plugin-/, "");
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(id))
    throw new UsageError(
      `The folder's name becomes the plugin's id, so it must have only lower-case letters, digits and "-", and start with a letter; it is ${JSON.stringify(id)}.`,
    );
  if (existsSync(target) && readdirSync(target).length > 0) throw new PackageError("EXISTS", `${target} is not empty.`);
  // If a file is in both templates, the kind's part comes first.
  const files = Map.groupBy([...filesOf(kind), ...filesOf("every")], ([name]) => places[name] ?? name);
  for (const [to, parts] of files) {
    const path = join(target, to);
    makeFolder(dirname(path));
    const texts = parts.map(([, text]) => text);
    writeFileSync(path, withId(to === "package.json" ? packageJson(texts, ownership) : texts.join("\n"), id));
  }
  const license = licenseText(ownership, id);
  if (license !== null) writeFileSync(join(target, "LICENSE"), license);
  return { folder: target, files: [...files.keys(), ...(license === null ? [] : ["LICENSE"])].sort() };
}

/**
 * Names and texts of a template's files. The published package contains all templates in one file, because npm and linters would
 * process them.
 */
function filesOf(template: string): [name: string, text: string][] {
  const packedTemplates = join(import.meta.dirname, "templates.json");
  if (existsSync(packedTemplates))
    return Object.entries(JSON.parse(readFileSync(packedTemplates, "utf8"))[template] as Record<string, string>);
  const folder = join(import.meta.dirname, "templates", template);
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return all
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => [path, readFileSync(join(folder, path), "utf8")]);
}

const withId = (text: string, id: string): string =>
  text.replaceAll(placeholder, id).replaceAll(
    "My plugin",
    id.replaceAll("-", " ").replace(/^./, (first) => first.toUpperCase()),
  );

/** The members of the kind and those of all plugins. The packages for development have the version of this program. */
function packageJson(texts: readonly string[], { license, repository }: Ownership): string {
  const [{ signalbox, ...packageOfKind } = {}, commonPackage] = texts.map((text) => JSON.parse(text) as Record<string, unknown>);
  const devDependencies = {
    "@signalbox/cli": `^${version}`,
    "@signalbox/sdk": `^${version}`,
    "@types/node": "^24.0.0",
    // A third of the size of version 7, with the same checks.
    typescript: "^5.9.0",
    zod: "^4.6.0",
  };
  return `${JSON.stringify({ ...packageOfKind, ...commonPackage, license, ...(repository && { repository: asRepository(repository) }), devDependencies, signalbox }, null, 2)}\n`;
}

/** In npm's format. */
const asRepository = (url: string) => ({ type: "git", url: `git+${url.replace(/^git\+/, "").replace(/(\.git)?\/?$/, ".git")}` });
