import { readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { join } from "node:path";
import { maxBundleBytes } from "@signalbox/sdk/manifest";
import { init, parse } from "es-module-lexer";
import type { BuildFailure, Message, Metafile, Plugin } from "esbuild";
import { PackageError } from "./package-error.ts";

/** Node modules that a plugin may import: those that work without files, processes, sockets and the name of the host. */
const builtins = [
  "assert",
  "assert/strict",
  "async_hooks",
  "buffer",
  "crypto",
  "events",
  "path",
  "path/posix",
  "querystring",
  "stream",
  "stream/promises",
  "stream/web",
  "string_decoder",
  "timers",
  "timers/promises",
  "url",
  "util",
  "util/types",
  "zlib",
];

/**
 * Folders with the packages of this program, so that a plugin finds the sdk and zod before its author has installed any package.
 */
export const ownPackages = (): string[] => createRequire(import.meta.url).resolve.paths("zod") ?? [];

/**
 * Imports of Node modules are not bundled, and keep their full names, because Deno requires them. If a CommonJS file requires
 * such a module, it gets it from an import, because the sandbox has no `require`.
 */
const fullNames: Plugin = {
  name: "runtime modules by their full names",
  setup: (build) => {
    build.onResolve({ filter: /^(node:)?[a-z_/0-9]+$/ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return undefined;
      const name = path.replace(/^node:/, "");
      if (kind === "require-call" && builtins.includes(name)) return { path: name, namespace: "required" };
      return { path: `node:${name}`, external: true };
    });
    build.onLoad({ filter: /.*/, namespace: "required" }, ({ path }) => ({
      contents: `module.exports = require("imported:${path}").default;`,
    }));
    build.onResolve({ filter: /^imported:/ }, ({ path }) => ({ path: path.slice("imported:".length), namespace: "imported" }));
    build.onLoad({ filter: /.*/, namespace: "imported" }, ({ path }) => ({
      contents: `export { default } from "node:${path}";`,
    }));
  },
};

/** The members of package.json that an author may import. The other members change with each build. */
const ownPackage = (folder: string): Plugin => ({
  name: "package.json without what is built from it",
  setup: (build) => {
    build.onLoad({ filter: /[\\/]package\.json$/ }, ({ path }) => {
      if (path !== join(folder, "package.json")) return undefined;
      const { name, version, description } = JSON.parse(readFileSync(path, "utf8"));
      return { contents: JSON.stringify({ name, version, description }), loader: "json" };
    });
  },
});

const importOfZod = /import\s*(?:\{([^{}]*)\}|([\w$]+))\s*from\s*(["']zod(?:\/(?:v4|mini|v4-mini))?["'])/g;
const memberZ = /^z(?:\s+as\s+([\w$]+))?$/;

/**
 * `import { z } from "zod"` bundles all of zod with its 50 languages; `import * as z` bundles only what is used, about a quarter.
 * Both have the same effect. Other names count too, because bundlers rename `z` in the packages that they write.
 */
const zodNamespaceImport: Plugin = {
  name: "only what is used of zod",
  setup: (build) => {
    build.onLoad({ filter: /\.[cm]?[jt]s$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = text.replace(importOfZod, namespaceImport);
      return contents === text ? undefined : { contents, loader: path.endsWith("ts") ? "ts" : "js" };
    });
  },
};

function namespaceImport(all: string, list: string | undefined, main: string | undefined, from: string): string {
  if (list === undefined) return main === "type" ? all : `import * as ${main} from ${from}`;
  const members = list.split(",").map((member) => member.trim());
  const names = members.flatMap((member) => {
    const found = memberZ.exec(member);
    return found ? [found[1] ?? "z"] : [];
  });
  if (names.length === 0) return all;
  const others = members.filter((member) => member !== "" && !memberZ.test(member));
  return [
    ...names.map((name) => `import * as ${name} from ${from}`),
    ...(others.length > 0 ? [`import { ${others.join(", ")} } from ${from}`] : []),
  ].join("; ");
}

/**
 * Bundles a source file, with everything that it imports, into one module. `version`: the version that the bundle declares, in
 * place of its own. Throws a `PackageError`.
 */
export async function bundle(folder: string, source: string, { version }: { version?: string } = {}): Promise<Uint8Array> {
  const { build } = await import("esbuild");
  const output = await build({
    absWorkingDir: folder,
    bundle: true,
    write: false,
    metafile: true,
    outfile: "plugin.js",
    ...(version === undefined
      ? { entryPoints: [source] }
      : { stdin: { contents: entrySource(source, version), resolveDir: folder } }),
    format: "esm",
    platform: "neutral",
    target: "es2024",
    charset: "utf8",
    logLevel: "silent",
    legalComments: "inline",
    mainFields: ["module", "main"],
    conditions: ["worker", "import", "default"],
    // Names are kept, so that stack traces and reviews of the bundle are readable.
    minifyWhitespace: true,
    minifySyntax: true,
    nodePaths: ownPackages(),
    plugins: [fullNames, ownPackage(folder), zodNamespaceImport],
  }).catch((error: BuildFailure) => {
    throw new PackageError("CANNOT_BUNDLE", failures(error), error);
  });
  refuseUndefined(output.warnings);
  const code = output.outputFiles[0]?.contents as Uint8Array;
  refuseImports(output.metafile);
  await refuseComputed(Buffer.from(code).toString("utf8"));
  if (code.byteLength > maxBundleBytes)
    throw new PackageError(
      "BUNDLE_SIZE",
      `The bundle must have at most ${maxBundleBytes} bytes; it has ${code.byteLength}. Largest: ${largest(output.metafile)}`,
    );
  return code;
}

/** The plugin with another version. The brand of `definePlugin` is a member too, so it is copied. */
const entrySource = (source: string, version: string): string =>
  `import plugin from ${JSON.stringify(`./${source}`)};\nexport default Object.freeze({ ...plugin, version: ${JSON.stringify(version)} });\n`;

function failures(error: BuildFailure): string {
  if (!Array.isArray(error.errors)) return String(error);
  return problemLines(error.errors);
}

const problemLines = (problems: readonly Message[]): string =>
  problems
    .slice(0, 5)
    .map(({ text, location }) => (location ? `${location.file}:${location.line}: ${text}` : text))
    .join("\n");

/**
 * An import of the plugin's own files without an export of that name. It is only a warning in TypeScript, where it may be a type,
 * and `undefined` at run time.
 */
function refuseUndefined(warnings: readonly Message[]): void {
  const own = warnings.filter(
    ({ id, location }) => id === "import-is-undefined" && !/(^|\/)node_modules\//.test(location?.file ?? ""),
  );
  if (own.length > 0) throw new PackageError("CANNOT_BUNDLE", problemLines(own));
}

function refuseImports({ inputs, outputs }: Metafile): void {
  // The bundle does not contain imports of types only, but `inputs` lists them.
  const bundled = new Set(Object.values(outputs).flatMap(({ imports }) => imports.map(({ path }) => path)));
  for (const [file, { imports }] of Object.entries(inputs)) {
    for (const { path, external } of imports) {
      // `<runtime>`: the helper functions that the bundler adds to the bundle.
      if (!external || path === "<runtime>" || !bundled.has(path)) continue;
      const name = path.replace(/^node:/, "");
      if (!path.startsWith("node:") || !builtins.includes(name))
        throw new PackageError(
          "FORBIDDEN_IMPORT",
          `${file} imports ${path}. A plugin cannot use files, processes, sockets or DNS; for HTTP, use the capability "fetch". Built-in modules that it may import: ${builtins.map((one) => `node:${one}`).join(", ")}.`,
        );
    }
  }
}

/**
 * `require(name)` and `import(name)` with a variable name are refused here, because the sandbox would refuse them only during a
 * call.
 */
async function refuseComputed(code: string): Promise<void> {
  const [required] = code.match(/\b__require\d*(\.resolve)?\([^)]{0,100}\)?/) ?? [];
  if (required)
    throw new PackageError(
      "RUNTIME_REQUIRE",
      `A CommonJS file in the bundle requires a module at run time, which the sandbox does not support: ${required.replace(/^__require\d*/, "require")}. Use a package that is published as ES modules.`,
    );
  await init;
  const [imports] = parse(code, "plugin.js");
  const computed = imports.find(({ d, n }) => d >= 0 && n === undefined);
  if (!computed) return;
  const line = code.slice(computed.ss, computed.se).slice(0, 120);
  throw new PackageError("COMPUTED_IMPORT", `The bundle imports a module by a computed name: ${line}. Use a literal name.`);
}

const largest = ({ inputs }: Metafile): string =>
  Object.entries(inputs)
    .sort(([, a], [, b]) => b.bytes - a.bytes)
    .slice(0, 3)
    .map(([file, { bytes }]) => `${file} ${Math.round(bytes / 1024)} KiB`)
    .join(", ");
