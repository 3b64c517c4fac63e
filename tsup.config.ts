import { existsSync, readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Options } from "tsup";

const shared: Options = {
  format: "esm",
  target: "node22",
  platform: "node",
  splitting: true,
  sourcemap: true,
  clean: true,
  metafile: true,
  skipNodeModulesBundle: true,
  // Deno knows its built-in modules only by their full names.
  removeNodeProtocol: false,
};
const command = existsSync("runtime/cli/main.ts") ? "runtime/cli/main.ts" : "runtime/main.ts";
const shebang = readFileSync(command, "utf8").startsWith("#!") ? {} : { banner: { js: "#!/usr/bin/env node" } };
const nouns = readdirSync("schema").filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));

/**
 * Five packages: the service with the built-in plugins; two for authors of plugins; the sdk; the schema. `.ci/package.mjs` adds a
 * package.json to each, and creates the separate packages of connectors.
 */
export default defineConfig([
  {
    ...shared,
    ...shebang,
    // The other entry points are started by path, as a separate process and as worker threads.
    entry: {
      signalbox: command,
      "evaluator-process": "runtime/platform/evaluator-process.ts",
      "offload-worker": "runtime/plugins/offload-worker.ts",
      "measure-message-worker": "runtime/plugins/sandbox/measure-message-worker.ts",
      "large-json-worker": "runtime/platform/large-json-worker.ts",
      "embedded-worker": "runtime/platform/database/embedded-worker.ts",
    },
    outDir: "dist/signalbox",
    noExternal: [/^@signalbox\//],
  },
  // The package that authors of plugins install instead of the service, and the one that creates a new plugin.
  {
    ...shared,
    entry: {
      signalbox: "runtime/cli/plugin/main.ts",
      "measure-message-worker": "runtime/plugins/sandbox/measure-message-worker.ts",
    },
    outDir: "dist/cli",
    noExternal: [/^@signalbox\//],
  },
  {
    ...shared,
    skipNodeModulesBundle: false,
    splitting: false,
    sourcemap: false,
    treeshake: true,
    entry: { create: "runtime/cli/plugin/create.ts" },
    outDir: "dist/create-signalbox-plugin",
    noExternal: [/./],
  },
  {
    ...shared,
    entry: { index: "sdk/index.ts", manifest: "sdk/manifest.ts", "testing/index": "sdk/testing/index.ts" },
    outDir: "dist/sdk",
  },
  // The first code of a plugin's process, in one file for Deno.
  { ...shared, splitting: false, sourcemap: false, entry: { boot: "runtime/plugins/sandbox/boot/main.ts" }, outDir: "dist/boot" },
  {
    ...shared,
    entry: Object.fromEntries(nouns.map((file) => [file.slice(0, -3), `schema/${file}`])),
    outDir: "dist/schema",
  },
]);
