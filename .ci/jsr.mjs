// Creates the sdk and the schema for JSR: the bundled JavaScript with the type declarations next to it, so that no type must be
// inferred ("slow types"). The declarations refer to one another as files, as Deno expects.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const names = ["schema", "sdk"];
const folder = "dist/jsr";

/** Creates both packages from dist/, and publishes them; with `isDry`, does everything except the upload. */
export async function publishToJsr({ isDry, run }) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "deno.json"), JSON.stringify({ workspace: names.map((name) => `./${name}`) }));
  const dry = isDry ? ["--dry-run"] : [];
  for (const name of names) writePackage(name);
  // Also trusts the machine's own certificates, as npm can: a company's proxy has its own.
  process.env.DENO_TLS_CA_STORE ??= "mozilla,system";
  // The files are generated, so git does not know them.
  await run("deno", ["publish", "--allow-dirty", "--quiet", ...dry], { cwd: folder });
  console.log(`jsr: ${names.map((name) => `@signalbox/${name}`).join(", ")}, no slow types`);
}

function writePackage(name) {
  const [from, to] = [`dist/${name}`, join(folder, name)];
  const { name: full, version, license, exports, dependencies } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  const skipped = /\.map$|package\.json$/;
  cpSync(from, to, { recursive: true, filter: (path) => !skipped.test(path) });
  for (const file of readdirSync(to, { recursive: true })) {
    const path = join(to, file);
    if (file.endsWith(".d.ts")) writeFileSync(path, declaration(readFileSync(path, "utf8")));
  }
  const modules = Object.entries(exports).filter(([, one]) => typeof one !== "string");
  const entries = modules.map(([key, { default: file }]) => [key, file]);
  for (const [, file] of entries) {
    const types = `./${file.split("/").at(-1).replace(/\.js$/, ".d.ts")}`;
    const code = readFileSync(join(to, file), "utf8").replace(/\n\/\/# sourceMappingURL=.*/, "");
    writeFileSync(join(to, file), `/* @ts-self-types="${types}" */\n${code}`);
  }
  const imports = Object.entries(dependencies).filter(([one]) => !one.startsWith("@signalbox/"));
  const jsr = {
    name: full,
    version,
    license,
    exports: Object.fromEntries(entries),
    imports: Object.fromEntries(
      imports.flatMap(([one, range]) => [
        [one, `npm:${one}@${range}`],
        [`${one}/`, `npm:/${one}@${range}/`],
      ]),
    ),
  };
  writeFileSync(join(to, "jsr.json"), `${JSON.stringify(jsr, null, 2)}\n`);
}

const declaration = (text) => text.replace(/(["'])(\.\.?\/[^"']+)\.js\1/g, "$1$2.d.ts$1");
