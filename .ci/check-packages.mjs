// Checks the packages in dist/ as they would be published: publint on the folders, are-the-types-wrong on the exports. Authors of
// other packages run both; each finding is an error here.
import { readFileSync } from "node:fs";
import { checkPackage, Package } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/** Findings about the package in `folder`. `files`: the published paths in it. */
export async function findingsOf(folder, files) {
  const manifest = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const { messages } = await publint({ pkgDir: folder, strict: true });
  const found = messages.map((message) => `publint: ${formatMessage(message, manifest)}`);
  const missing = ["LICENSE", "README.md", "CHANGELOG.md"].filter((file) => !files.includes(file));
  found.push(...missing.map((file) => `${file} is missing`));
  if (manifest.exports?.["./package.json"] === undefined) found.push(...(await wrongTypes(folder, manifest, files)));
  return found.map((text) => `${manifest.name}: ${text}`);
}

/** Every package is ES modules only, so the two kinds of resolution that support only CommonJS do not count. */
async function wrongTypes(folder, { name, version }, files) {
  const read = (file) => readFileSync(`${folder}/${file}`, "utf8");
  const contents = Object.fromEntries(files.map((file) => [`/node_modules/${name}/${file}`, read(file)]));
  const { problems, types } = await checkPackage(new Package(contents, name, version));
  if (types === false) return ["it has no types"];
  const counted = problems.filter(({ resolutionKind }) => resolutionKind !== "node10" && resolutionKind !== "node16-cjs");
  return counted.map(({ kind, entrypoint, resolutionKind }) => `types: ${kind} at ${entrypoint ?? ""} ${resolutionKind ?? ""}`);
}
