import { readFileSync } from "node:fs";

/**
 * The section of CHANGELOG.md about a version. With `unreleased`, returns the section about the next version if that one does not
 * exist yet.
 */
export function notesOf(version, { unreleased }) {
  const sections = readFileSync("CHANGELOG.md", "utf8").split(/^(?=## )/m);
  const of = (name) => sections.find((section) => section.startsWith(`## [${name}]`));
  const found = of(version) ?? (unreleased ? of("Unreleased") : undefined);
  if (!found) throw new Error(`CHANGELOG.md has no section [${version}]: run npm run release:version -- ${version}`);
  return `${found
    .replace(/^## .*\n+/, "")
    .replace(/^\[[^\]]+\]: .*$/gm, "")
    .trim()}\n`;
}
