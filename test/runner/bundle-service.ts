import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { buildConsole } from "../../runtime/console/build.ts";
import { bundledService, root, runtimeUnderTest } from "../harness/process.ts";

/**
 * Bundles the service with the packages that it imports: hundreds of services start in a run of the tests, and a bundle starts
 * in half the processor time of some 2,000 files. The command line, the demo, `npm start` and Deno are tested from the sources.
 */
export async function setup(): Promise<void> {
  if (runtimeUnderTest() !== "node") return;
  // Written over, not removed: another run of the tests may be starting services from it.
  rmSync(join(bundledService, "console"), { recursive: true, force: true });
  mkdirSync(join(bundledService, "console"), { recursive: true });
  // Without it, Node would parse each file to find out that it is a module.
  writeFileSync(join(bundledService, "package.json"), '{ "type": "module" }\n');
  const from = (file: string) => join(root, "runtime", file);
  const common: BuildOptions = {
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22",
    logLevel: "error",
    // They read files of their own beside their code, or are CommonJS that is imported only when it is needed.
    external: ["@electric-sql/*", "@opentelemetry/*", "jq-wasm", "esbuild"],
    banner: {
      js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);
const __dirname = import.meta.dirname; const __filename = import.meta.filename;`,
    },
  };
  await build({
    ...common,
    splitting: true,
    outdir: bundledService,
    entryPoints: {
      main: from("main.ts"),
      "evaluator-process": from("platform/evaluator-process.ts"),
      "large-json-worker": from("platform/large-json-worker.ts"),
      "offload-worker": from("plugins/offload-worker.ts"),
      "measure-message-worker": from("plugins/sandbox/measure-message-worker.ts"),
    },
  });
  const boot = from("plugins/sandbox/boot/main.ts");
  await build({ ...common, banner: {}, outfile: join(bundledService, "boot.js"), entryPoints: [boot] });
  for (const { name, bytes } of await buildConsole()) writeFileSync(join(bundledService, "console", name), bytes);
  cpSync(from("transports/http/docs"), join(bundledService, "docs"), { recursive: true });
  const [migrations, copied] = [join(root, "migrations"), join(bundledService, "migrations")];
  cpSync(migrations, copied, { recursive: true });
  // One that has got another number since the last run would be applied twice.
  for (const name of readdirSync(copied)) if (!existsSync(join(migrations, name))) rmSync(join(copied, name));
}
