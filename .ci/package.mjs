// Creates packages from the bundles in dist/ that tsup wrote: adds package.json, types, migrations and license. Run by `npm run
// build`.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { z } from "zod";
import { build as buildPlugin } from "../runtime/cli/plugin/build.ts";
import { buildConsole } from "../runtime/console/build.ts";
import { manifest } from "../sdk/manifest.ts";
import { withAbsoluteLinks } from "./package-readme.mjs";

const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const root = read("package.json");
const pluginFolders = readdirSync("plugins", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `plugins/${name}`);
const workspaces = ["sdk", "schema", ...pluginFolders].map((folder) => read(`${folder}/package.json`));
const ranges = Object.assign({}, ...[...workspaces, root].map(({ dependencies }) => dependencies));

const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.types.json"], {
  stdio: "inherit",
});
if (status !== 0) process.exit(1);
for (const name of ["sdk", "schema"]) {
  for (const file of declarations(`dist/types/${name}`)) {
    const text = readFileSync(join(`dist/types/${name}`, file), "utf8");
    writeFileSync(join(`dist/${name}`, file), text.replace(/(["'])(\.\.?\/[^"']+)\.ts\1/g, "$1$2.js$1"));
  }
}
rmSync("dist/types", { recursive: true });

for (const name of ["signalbox", "cli"]) cpSync("dist/boot/boot.js", `dist/${name}/boot.js`);
rmSync("dist/boot", { recursive: true });
requireSiblings("signalbox", 5);
requireSiblings("cli", 1);
for (const name of ["signalbox", "cli", "create-signalbox-plugin"])
  writeFileSync(`dist/${name}/templates.json`, JSON.stringify(templates("runtime/cli/plugin/templates")));
cpSync("runtime/transports/http/docs", "dist/signalbox/docs", { recursive: true });
// A file of an earlier build would be served together with the new ones.
rmSync("dist/signalbox/console", { recursive: true, force: true });
mkdirSync("dist/signalbox/console", { recursive: true });
for (const { name, bytes } of await buildConsole()) writeFileSync(join("dist/signalbox/console", name), bytes);
cpSync("migrations", "dist/signalbox/migrations", { recursive: true, filter: (path) => !path.endsWith(".md") });
write("signalbox", {
  ...described(root),
  bin: { signalbox: "signalbox.js" },
  exports: { "./package.json": "./package.json" },
  // No import names the sdk, but plugins are built with it.
  dependencies: used("signalbox", ["@signalbox/sdk"]),
  // Deno for the sandbox of plugins; without it, only trusted ones run.
  optionalDependencies: root.optionalDependencies,
});
write("cli", {
  ...described({ ...root, name: "@signalbox/cli", description: "Creates, tests, packs and installs plugins of Signalbox." }),
  keywords: ["signalbox", "plugin", "cli"],
  bin: { signalbox: "signalbox.js" },
  exports: { "./package.json": "./package.json" },
  dependencies: used("cli", ["@signalbox/sdk"]),
  optionalDependencies: root.optionalDependencies,
});
write("create-signalbox-plugin", {
  ...described({
    ...root,
    name: "create-signalbox-plugin",
    description: "Creates a plugin of Signalbox: npm create signalbox-plugin.",
  }),
  keywords: ["signalbox", "plugin", "create"],
  bin: { "create-signalbox-plugin": "create.js" },
  exports: { "./package.json": "./package.json" },
});
const sdk = workspaces[0];
// A JSON Schema for editors: the members of "signalbox" in a plugin's package.json.
const { $schema, ...schema } = z.toJSONSchema(manifest, { io: "input" });
writeFileSync("dist/sdk/package.schema.json", `${JSON.stringify({ $schema, properties: { signalbox: schema } }, null, 2)}\n`);
write("sdk", {
  ...described(sdk),
  exports: {
    ".": typed("./index"),
    "./manifest": typed("./manifest"),
    "./testing": typed("./testing/index"),
    "./package.schema.json": "./package.schema.json",
  },
  dependencies: used("sdk"),
});
// Each by name, because a wildcard would also export the chunks that they share.
const nouns = declarations("dist/schema").map((file) => file.slice(0, -".d.ts".length));
write("schema", {
  ...described(workspaces[1]),
  exports: Object.fromEntries(nouns.sort().map((noun) => [`./${noun}`, typed(`./${noun}`)])),
  dependencies: used("schema"),
});

// Connectors in separate packages. Each is one bundle with its manifest and without dependencies.
for (const folder of pluginFolders) {
  const own = read(`${folder}/package.json`);
  if (own.signalbox === undefined) continue;
  const { manifest } = await buildPlugin(resolve(folder));
  const name = `plugin-${manifest.id}`;
  mkdirSync(`dist/${name}/dist`, { recursive: true });
  for (const file of ["plugin.js", "plugin.json"]) cpSync(`${folder}/dist/${file}`, `dist/${name}/dist/${file}`);
  // Published like the plugin of any other author.
  const { exports, signalbox } = read(`${folder}/package.json`);
  write(name, { ...described(own, folder), exports, signalbox }, folder);
}

/** Programs of threads and processes are started by path, so no bundler notices that one is missing from the entries. */
function requireSiblings(name, number) {
  const bundles = readdirSync(`dist/${name}`).filter((file) => file.endsWith(".js"));
  const texts = bundles.map((file) => readFileSync(`dist/${name}/${file}`, "utf8"));
  const programs = texts.flatMap((text) =>
    [...text.matchAll(/siblingFile\(import\.meta\.url, "([^"]+)"/g)].map(([, one]) => one),
  );
  if (programs.length !== number)
    throw new Error(`dist/${name} starts ${programs.length} programs by path instead of ${number}: ${programs.join(", ")}`);
  const missing = programs.filter((one) => !bundles.includes(`${one}.js`));
  if (missing.length > 0) throw new Error(`tsup.config.ts: dist/${name} needs the entries ${missing.join(", ")}`);
}

function write(name, described, source) {
  const folder = `dist/${name}`;
  rmSync(join(folder, "metafile-esm.json"), { force: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(described, null, 2)}\n`);
  for (const file of ["LICENSE", "CHANGELOG.md"]) cpSync(file, join(folder, file));
  const from =
    source ?? { signalbox: ".", cli: "runtime/cli/plugin", "create-signalbox-plugin": "runtime/cli/plugin" }[name] ?? name;
  writeFileSync(join(folder, "README.md"), withAbsoluteLinks(join(from, "README.md"), root));
}

function described({ name, version, description, keywords, license }, folder) {
  const own = folder ?? (/^@signalbox\/(sdk|schema)$/.test(name) ? name.slice("@signalbox/".length) : undefined);
  const directory = own === undefined ? {} : { directory: own };
  return {
    name,
    version,
    description,
    keywords,
    license,
    type: "module",
    engines: root.engines,
    homepage: root.homepage,
    bugs: root.bugs,
    repository: { ...root.repository, ...directory },
    publishConfig: { access: "public", provenance: true },
  };
}

function typed(path) {
  return { types: `${path}.d.ts`, default: `${path}.js` };
}

/** The packages that the bundle imports, in the versions of the sources. */
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

/** Texts of the files of each template, in the format that runtime/cli/plugin/scaffold.ts reads. */
function templates(folder) {
  const textsOf = (template) => {
    const files = readdirSync(join(folder, template), { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    const paths = files.map(({ parentPath, name }) => join(parentPath, name));
    return paths.sort().map((path) => [relative(join(folder, template), path), readFileSync(path, "utf8")]);
  };
  return Object.fromEntries(readdirSync(folder).map((template) => [template, Object.fromEntries(textsOf(template))]));
}

function declarations(folder) {
  return readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".d.ts"));
}
