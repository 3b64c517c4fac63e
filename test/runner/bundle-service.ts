import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { buildConsole } from "../../runtime/console/build.ts";
import { bundledService, root, runtimeUnderTest } from "../harness/process.ts";

/**
 * Bundles the service and the command line with the packages that they import. A run of the tests starts hundreds of them, and a
 * bundle starts in half the processor time of some 2,000 files. The demo, `npm start`, the commands in the READMEs and Deno are
 * tested from the sources.
 */
export async function setup(): Promise<void> {
  if (runtimeUnderTest() !== "node") return;
  // Replaced file by file and never emptied, because another run of the tests may be starting services from it.
  mkdirSync(bundledService, { recursive: true });
  // Without it, Node would parse each file to determine that it is a module.
  writeFileSync(join(bundledService, "package.json"), '{ "type": "module" }\n');
  const from = (file: string) => join(root, "runtime", file);
  const common: BuildOptions = {
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22",
    logLevel: "error",
    // Less text to read. Names stay, for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    // Packages that read files next to their code, or CommonJS packages that are imported only when they are needed.
    external: ["@electric-sql/*", "@opentelemetry/*", "jq-wasm", "esbuild"],
    banner: {
      js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);
const __dirname = import.meta.dirname; const __filename = import.meta.filename;`,
    },
  };
  await bundle({
    ...common,
    splitting: true,
    outdir: bundledService,
    entryPoints: {
      main: from("main.ts"),
      signalbox: from("cli/main.ts"),
      "evaluator-process": from("platform/evaluator-process.ts"),
      "large-json-worker": from("platform/large-json-worker.ts"),
      "embedded-worker": from("platform/database/embedded-worker.ts"),
      "offload-worker": from("plugins/offload-worker.ts"),
      "measure-message-worker": from("plugins/sandbox/measure-message-worker.ts"),
      // Loaded into services by `--import`: from the source, each start would load the compiler of TypeScript too.
      "die-at": join(root, "test/harness/die-at.ts"),
      "measure-loop": join(root, "test/harness/measure-loop.ts"),
    },
  });
  const boot = from("plugins/sandbox/boot/main.ts");
  await bundle({ ...common, banner: {}, outfile: join(bundledService, "boot.js"), entryPoints: [boot] });
  link("templates", from("cli/plugin/templates"));
  fill("console", await buildConsole());
  fill("docs", filesOf(from("transports/http/docs")));
  fill("migrations", filesOf(join(root, "migrations")));
}

const filesOf = (folder: string) => readdirSync(folder).map((name) => ({ name, bytes: readFileSync(join(folder, name)) }));

/** Fills a folder beside the bundle with these files alone: a migration that has got another number would be applied twice. */
function fill(name: string, files: readonly { name: string; bytes: Uint8Array }[]): void {
  const folder = join(bundledService, name);
  mkdirSync(folder, { recursive: true });
  for (const { name, bytes } of files) replaceFile(join(folder, name), bytes);
  const names = new Set(files.map((file) => file.name));
  for (const name of readdirSync(folder)) if (!names.has(name)) rmSync(join(folder, name));
}

/** Links a folder beside the bundle to one of the sources. */
function link(name: string, folder: string): void {
  const written = `${bundledService}.${process.pid}`;
  symlinkSync(folder, written);
  renameSync(written, join(bundledService, name));
}

async function bundle(options: BuildOptions): Promise<void> {
  const { outputFiles } = await build({ ...options, write: false });
  for (const { path, contents } of outputFiles) replaceFile(path, contents);
}

/**
 * A file with the same name may be open at this moment, or may have hard links in copies of this folder, so its content is never
 * changed in place.
 */
function replaceFile(path: string, contents: Uint8Array): void {
  const written = `${bundledService}.${process.pid}`;
  writeFileSync(written, contents);
  renameSync(written, path);
}
