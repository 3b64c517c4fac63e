import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const root = join(import.meta.dirname, "../..");

/** The rules of this repository's .gitignore: `name/` or `*.ext` at any depth, `path/to/folder/` from the root. */
const ignored = readFileSync(join(root, ".gitignore"), "utf8")
  .split("\n")
  .filter((rule) => rule !== "")
  .map((rule) => rule.replace(/\/$/, ""))
  .map((rule) => (rule.includes("/") ? rule : `**/${rule}`));

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = posix.join(folder, entry.name);
    if (entry.name === ".git" || ignored.some((rule) => posix.matchesGlob(path, rule))) continue;
    if (entry.isDirectory()) yield* filesIn(path);
    else yield path;
  }
}

/** Files of the repository: tracked, or new and not ignored. Works without git, because some machines have none. */
export const files: readonly string[] = [...filesIn(".")].sort();

/** Files that a generator wrote, in its own style. */
export const isGenerated = (path: string): boolean => /(^|\/)gen\//.test(path);

export const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

export const isTest = (path: string): boolean => /\.test\.ts$|(^|\/)(test|testing)\//.test(path) || /(^|\/)test-/.test(path);
