import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { SDK_VERSION } from "@signalbox/sdk";
import { version } from "../../version.ts";
import { UsageError } from "../arguments.ts";
import { PackageFault } from "./fault.ts";

export const kinds = ["tools", "sources", "memories", "useCases"] as const;
export type TemplateKind = (typeof kinds)[number];

/** Files that stand under another name among the templates: npm and git would act on them there. */
const places: Readonly<Record<string, string>> = { gitignore: ".gitignore", "publish.yml": ".github/workflows/publish.yml" };
const placeholder = "my-plugin";

/** Makes a plugin of one kind in a new or empty folder, whose name becomes its id. */
export function scaffold({ folder, kind }: { folder: string; kind: string }): { folder: string; files: string[] } {
  if (!(kinds as readonly string[]).includes(kind)) throw new UsageError(`--kind: must be one of ${kinds.join(", ")}`);
  const target = resolve(folder);
  const id = basename(target).replace(/^signalbox-plugin-/, "");
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(id))
    throw new UsageError(
      `The folder's name becomes the plugin's id: lower-case letters, digits and "-"; it is ${JSON.stringify(id)}.`,
    );
  if (existsSync(target) && readdirSync(target).length > 0) throw new PackageFault("EXISTS", `${target} is not empty.`);
  const files = [...filesOf("every"), ...filesOf(kind)];
  for (const { from, to } of files) {
    const path = join(target, to);
    mkdirSync(dirname(path), { recursive: true });
    if (to === "package.json") writeFileSync(path, packageJson(from, id));
    else if (/\.(ts|md|json)$/.test(to)) writeFileSync(path, named(readFileSync(from, "utf8"), id));
    else cpSync(from, path);
  }
  return { folder: target, files: files.map(({ to }) => to).sort() };
}

function filesOf(template: string): { from: string; to: string }[] {
  const folder = join(import.meta.dirname, "templates", template);
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return all
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => ({ from: join(folder, path), to: places[path] ?? path }));
}

const named = (text: string, id: string): string =>
  text.replaceAll(placeholder, id).replaceAll(
    "My plugin",
    id.replaceAll("-", " ").replace(/^./, (first) => first.toUpperCase()),
  );

/** What it is developed with has the versions of this program. */
function packageJson(from: string, id: string): string {
  const own = JSON.parse(named(readFileSync(from, "utf8"), id)) as Record<string, unknown>;
  const { signalbox, ...rest } = own;
  const devDependencies = {
    "@signalbox/sdk": `^${SDK_VERSION}`,
    "@types/node": "^24.0.0",
    signalbox: `^${version}`,
    typescript: "^7.0.0",
    zod: "^4.6.0",
  };
  return `${JSON.stringify({ ...rest, devDependencies, signalbox }, null, 2)}\n`;
}
