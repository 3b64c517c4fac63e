// `npm run release:version -- 0.2.0` writes the version of the next release to all places in the sources, and closes the section
// Unreleased of CHANGELOG.md. Review and commit the result, then push the tag v0.2.0, which starts the release.
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";

const [next] = process.argv.slice(2);
const { version: last } = JSON.parse(readFileSync("package.json", "utf8"));
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(next ?? "")) fail(`Usage: npm run release:version -- <version>; the last one is ${last}.`);

// All packages have one version, and each accepts the others of this version or later ones.
for (const path of ["package.json", ...globSync(["{sdk,schema}/package.json", "{plugins,examples}/*/package.json"])]) {
  if (!path.startsWith("examples/")) replace(path, `"version": "${last}"`, `"version": "${next}"`);
  replace(path, new RegExp(`("@signalbox/[a-z-]+": "\\^?)${escaped(last)}"`, "g"), `$1${next}"`);
}
replace("runtime/platform/version.ts", `"${last}"`, `"${next}"`);
replace("sdk/plugin.ts", `SDK_VERSION = "${last}"`, `SDK_VERSION = "${next}"`);
replace("examples/deploy/helm/Chart.yaml", `appVersion: ${last}`, `appVersion: ${next}`);
for (const path of globSync("plugins/*/index.ts")) replace(path, `version: "${last}"`, `version: "${next}"`);
const sources = globSync("{plugins,examples,runtime/cli/plugin/templates}/**/{*.ts,package.json}", {
  exclude: (path) => path.includes("node_modules"),
});
for (const path of sources) replace(path, new RegExp(`("?sdk"?: "\\^)${escaped(last)}"`, "g"), `$1${next}"`);
const today = new Date().toISOString().slice(0, 10);
replace("CHANGELOG.md", /There has been no release yet\..*\n\n/, "");
replace("CHANGELOG.md", "## [Unreleased]\n", `## [Unreleased]\n\n## [${next}] - ${today}\n`);

run("npm", ["install", "--package-lock-only", "--no-audit", "--no-fund", "--loglevel=error"]);
run("npm", ["run", "--silent", "generate"]);
console.log(`The sources say ${next}. Next: review, commit, git tag --annotate v${next}, git push --follow-tags`);

function replace(path, from, to) {
  const text = readFileSync(path, "utf8");
  const replaced = text.replace(from, to);
  if (replaced !== text) writeFileSync(path, replaced);
}

function escaped(text) {
  return text.replaceAll(".", "\\.");
}

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) fail(`${command} ${args.join(" ")} failed`);
}

function fail(text) {
  console.error(text);
  process.exit(1);
}
