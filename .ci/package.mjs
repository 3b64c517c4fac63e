// Makes packages of what tsup bundled into dist/: a package.json, types, migrations, license. `npm run build`.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildConsole } from "../runtime/console/build.ts";

const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const root = read("package.json");
const workspaces = ["sdk", "schema", ...readdirSync("plugins").map((name) => `plugins/${name}`)].map((folder) =>
  read(`${folder}/package.json`),
);
const ranges = Object.assign({}, ...[...workspaces, root].map(({ dependencies }) => dependencies));

const { status } = spawnSync("tsc", ["-p", "tsconfig.types.json"], { stdio: "inherit" });
if (status !== 0) process.exit(1);
for (const name of ["sdk", "schema"]) {
  for (const file of declarations(`dist/types/${name}`)) {
    const text = readFileSync(join(`dist/types/${name}`, file), "utf8");
    writeFileSync(join(`dist/${name}`, file), text.replace(/(["'])(\.\.?\/[^"']+)\.ts\1/g, "$1$2.js$1"));
  }
}
rmSync("dist/types", { recursive: true });

cpSync("dist/boot/boot.js", "dist/signalbox/boot.js");
rmSync("dist/boot", { recursive: true });
cpSync("runtime/cli/plugin/templates", "dist/signalbox/templates", { recursive: true });
cpSync("runtime/transports/http/docs", "dist/signalbox/docs", { recursive: true });
// A file of an earlier build would be served beside the new ones.
rmSync("dist/signalbox/console", { recursive: true, force: true });
mkdirSync("dist/signalbox/console", { recursive: true });
for (const { name, bytes } of await buildConsole()) writeFileSync(join("dist/signalbox/console", name), bytes);
cpSync("migrations", "dist/signalbox/migrations", { recursive: true, filter: (path) => !path.endsWith(".md") });
write("signalbox", {
  ...described(root),
  bin: { signalbox: "signalbox.js" },
  exports: { "./package.json": "./package.json" },
  // No import names the sdk: plugins are built with it.
  dependencies: used("signalbox", ["@signalbox/sdk"]),
  // The sandbox of plugins; without it none but trusted ones run.
  optionalDependencies: root.optionalDependencies,
});
const sdk = workspaces[0];
write("sdk", {
  ...described(sdk),
  exports: { ".": typed("./index"), "./manifest": typed("./manifest"), "./testing": typed("./testing/index") },
  dependencies: used("sdk"),
});
write("schema", { ...described(workspaces[1]), exports: { "./*": typed("./*") }, dependencies: used("schema") });

function write(name, manifest) {
  const folder = `dist/${name}`;
  rmSync(join(folder, "metafile-esm.json"));
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync("LICENSE", join(folder, "LICENSE"));
  cpSync(name === "signalbox" ? "README.md" : `${name}/README.md`, join(folder, "README.md"));
}

function described({ name, version, description, license }) {
  return { name, version, description, license, type: "module", engines: root.engines };
}

function typed(path) {
  return { types: `${path}.d.ts`, default: `${path}.js` };
}

/** The packages that the bundle imports, in the versions that the sources ask for. */
function used(name, more = []) {
  const { outputs } = read(`dist/${name}/metafile-esm.json`);
  const imported = Object.values(outputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external).map(({ path }) => path),
  );
  const packages = [...imported, ...more].filter((path) => !/^(node:|\.)/.test(path)).map(packageOf);
  return Object.fromEntries([...new Set(packages)].sort().map((one) => [one, ranges[one] ?? unknown(one, name)]));
}

function packageOf(path) {
  return path
    .split("/")
    .slice(0, path.startsWith("@") ? 2 : 1)
    .join("/");
}

function unknown(one, name) {
  throw new Error(`dist/${name} imports ${one}, which no package.json of the sources names`);
}

function declarations(folder) {
  return readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".d.ts"));
}
