import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { build, readBuilt } from "./build.ts";
import { readConformance } from "./conformance/read-conformance.ts";
import { fetchPackage } from "./fetch-package.ts";
import { pack } from "./pack.ts";
import type { PackageErrorCode } from "./package-error.ts";
import { scaffold } from "./scaffold.ts";

/** All refusals, each with its code and what is expected. test/plugins/author.test.ts tests the successful path. */
let folder: string;
let template: string;
let plugin: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-refusals-"));
  template = join(folder, "good");
  scaffold({ folder: template, kind: "tools" });
  await build(template);
}, 60_000);
beforeEach(() => {
  plugin = join(folder, "plugin");
  rmSync(plugin, { recursive: true, force: true });
  cpSync(template, plugin, { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const refused = (run: Promise<unknown> | (() => unknown), code: PackageErrorCode, text: RegExp) =>
  expect(typeof run === "function" ? Promise.try(run) : run).rejects.toMatchObject({
    code,
    message: expect.stringMatching(text),
  });
const edit = (file: string, from: string | RegExp, to: string) => {
  const path = join(plugin, file);
  const before = readFileSync(path, "utf8");
  writeFileSync(path, before.replace(from, to));
  expect(readFileSync(path, "utf8")).not.toBe(before);
};
const prepend = (line: string) => edit("src/plugin.ts", /^/, `${line}\n`);

describe("build", () => {
  test.each<[string, PackageErrorCode, RegExp]>([
    ['import "node:fs";', "FORBIDDEN_IMPORT", /^src\/plugin\.ts imports node:fs\. .*capability "fetch"/],
    ['import "child_process";', "FORBIDDEN_IMPORT", /imports node:child_process/],
    ["export const load = (name: string) => import(name);", "COMPUTED_IMPORT", /import\(name\)/],
    ['import "not-there";', "CANNOT_BUNDLE", /^src\/plugin\.ts:1: Could not resolve "not-there"/],
    ["export const = 1;", "CANNOT_BUNDLE", /^src\/plugin\.ts:1: /],
    ['import "./legacy.cjs";', "RUNTIME_REQUIRE", /requires a module at run time.*require\.resolve\("util"\)/],
    ['import "./files.cjs";', "FORBIDDEN_IMPORT", /^src\/files\.cjs imports node:fs/],
  ])("with %s", async (line, code, text) => {
    writeFileSync(join(plugin, "src/legacy.cjs"), 'module.exports = require.resolve("util");');
    writeFileSync(join(plugin, "src/files.cjs"), 'module.exports = require("fs");');
    prepend(line);
    await refused(build(plugin), code, text);
  });

  test("an import of a name that the file does not export", async () => {
    writeFileSync(join(plugin, "src/parse.ts"), "function parse() {}\n");
    prepend('import { parse } from "./parse.ts"; export const parsed = parse();');
    await refused(build(plugin), "CANNOT_BUNDLE", /^src\/plugin\.ts:1: Import "parse" will always be undefined/);
    writeFileSync(join(plugin, "src/parse.ts"), "export interface Parsed {}\n");
    edit("src/plugin.ts", /^.*\n/, 'import { Parsed } from "./parse.ts"; export type Mine = Parsed;\n');
    expect((await build(plugin)).manifest.id).toBe("good");
  });

  test("a CommonJS file may require the built-in modules that a plugin may import", async () => {
    const required = 'const Emitter = require("events"); const { format } = require("util"); module.exports = [Emitter, format];';
    writeFileSync(join(plugin, "src/required.cjs"), required);
    prepend(
      'if (!(new required[0]() instanceof required[0]) || required[1]("%d", 1) !== "1") throw new Error("not the modules");',
    );
    prepend('import required from "./required.cjs";');
    expect((await build(plugin)).manifest.id).toBe("good");
  });

  test("a bundle that does not start, or does not match package.json", async () => {
    edit("src/plugin.ts", 'id: "good"', 'id: "other"');
    await refused(build(plugin), "MISMATCH", /"other" in definePlugin, "good" in package\.json/);
    edit("src/plugin.ts", 'id: "other"', 'id: "good", hosts: ["api.example.com"]');
    await refused(build(plugin), "UNDECLARED_HOST", /api\.example\.com.*permissions\.http/);
    edit("src/plugin.ts", "config: z.object({})", "config: z.object({ team: z.string() })");
    await refused(build(plugin), "NOT_SET_UP", /^BAD_CONFIG: .*team.*default values/);
    edit("src/plugin.ts", "z.object({ team: z.string() })", "z.object({})");
    edit("src/plugin.ts", 'sdk: "^0.1.0"', 'sdk: "^9.0.0"');
    await refused(build(plugin), "NOT_SET_UP", /^SDK_RANGE: This host has sdk .*good 0\.1\.0 was written for \^9\.0\.0/);
    prepend('throw new Error("at the top");');
    await refused(build(plugin), "NOT_SET_UP", /^NOT_FOUND: .*at the top/);
  }, 30_000);

  test.each<[string, string, RegExp]>([
    ["  output: z.object({ words: z.int() }),\n", "", /: tool: output must be a schema of zod, such as z\.object\(\{\}\)$/],
    ["const countWords = tool(", "const countWords = Object(", /good: tools\.count_words: output must be a schema of zod 4/],
    ['effect: "read"', 'effect: "raed"', /contributes\.tools\.count_words\.effect: must be read or write$/],
    ["count_words: countWords", '"Count words": countWords', /Count words: the name of this member must start with a lower-case/],
    ["  run: ({ text }) =>", "  runs: ({ text }) =>", /good: setup must return a function for tools\.count_words\.run\.$/],
    ['needs: ["fetch"]', 'needs: ["fetsh"]', /add "fetch" to needs in definePlugin; there is no capability "fetsh"$/],
    ['needs: ["fetch"]', "needs: []", /setup threw: it uses the capability "fetch"; add "fetch" to needs in definePlugin/],
    ["setup: (", "about2: process.env.HOME, setup: (", /A plugin cannot use env \("HOME"\)\. It has no environment variables/],
  ])("with %j replaced by %j", async (from, to, text) => {
    if (to.startsWith("const")) edit("src/plugin.ts", "  output: z.object({ words: z.int() }),\n", "");
    edit("src/plugin.ts", from, to);
    const { signalbox, ...rest } = JSON.parse(readFileSync(join(plugin, "package.json"), "utf8"));
    if (to === "needs: []") signalbox.permissions.http = [];
    writeFileSync(join(plugin, "package.json"), JSON.stringify({ ...rest, signalbox }));
    await refused(build(plugin), "NOT_SET_UP", text);
  });

  test.each<[string, string, PackageErrorCode, RegExp]>([
    ['"manifest": 1', '"manifest": 1, "postinstall": "x"', "BAD_MANIFEST", /postinstall/],
    ['"permissions"', '"permisions"', "BAD_MANIFEST", /signalbox: has no member "permisions"; its members are .*, permissions,/],
    ['"methods": [', '"methods": "GET", "x": [', "BAD_MANIFEST", /http\.0\.methods: must be an array$/],
    ['"GET"', '"GETS"', "BAD_MANIFEST", /http\.0\.methods\.0: must be GET, HEAD, POST, PUT, PATCH or DELETE$/],
    ['"manifest": 1', '"manifest": 2', "BAD_MANIFEST", /must be 1, the version of the manifest format; it is 2/],
    ['"status.example.com"', '"*.example.com"', "BAD_MANIFEST", /must be a host name/],
    ['"sdk": "^0', '"sdk": "*", "x": "^0', "BAD_MANIFEST", /signalbox/],
    ['"type": "module"', '"type": "commonjs"', "BAD_PACKAGE", /"type" must be "module"; it is "commonjs"/],
    ['"type": "module"', '"type": "module", "dependencies": { "left-pad": "1" }', "BAD_PACKAGE", /devDependencies/],
    ['"src/plugin.ts"', '"src/nowhere.ts"', "NO_SOURCE", /src\/nowhere\.ts/],
  ])("package.json with %s as %s", async (from, to, code, text) => {
    edit("package.json", from, to);
    await refused(build(plugin), code, text);
  });

  test("derived members of the manifest may be missing, and are written", async () => {
    const { signalbox, ...rest } = JSON.parse(readFileSync(join(plugin, "package.json"), "utf8"));
    const { kinds: _, sdk: __, needs: ___, about: ____, ...own } = signalbox;
    writeFileSync(join(plugin, "package.json"), JSON.stringify({ ...rest, signalbox: own }));
    expect((await build(plugin)).changedMembers.toSorted()).toEqual(["about", "kinds", "needs", "sdk"]);
    expect(JSON.parse(readFileSync(join(plugin, "package.json"), "utf8")).signalbox).toEqual(signalbox);
  });

  test.each([
    ["{ tools: { count_words: {} } }", /conformance\.tools\.tools: is required; it must be an object; see the type Conformance/],
    ["{ tool: {} }", /conformance: has no member "tool"; see/],
    ["{ tools: { tools: {}, config: {} } }", /conformance\.tools: has no member "config"; see/],
    ["{ tools: { tools: { a: { inputs: [] } } } }", /conformance\.tools\.tools\.a\.inputs: must have at least 1 item; see/],
  ])("invalid fixtures: %s", async (fixtures, text) => {
    writeFileSync(join(plugin, "test/conformance.ts"), `export const conformance = ${fixtures};`);
    await refused(readConformance(plugin), "NO_CONFORMANCE", text);
  });

  test("a folder without a plugin", async () => {
    await refused(
      build(join(folder, "nowhere")),
      "NO_PACKAGE",
      /nowhere.package\.json does not exist\. Change to the plugin's folder or name it/,
    );
  });

  test("a package.json that is not JSON", async () => {
    const broken = join(folder, "broken");
    mkdirSync(broken);
    writeFileSync(join(broken, "package.json"), '{"name": "x" "version": "1.0.0"}');
    await refused(build(broken), "NO_PACKAGE", /package\.json is not valid JSON: Expected ',' or '}'/);
  });

  test("a report for another bundle is not packed", async () => {
    const report = (sha256: string) =>
      writeFileSync(join(plugin, "dist/conformance.json"), JSON.stringify({ plugin: { sha256 } }));
    report(readBuilt(plugin).manifest.bundle.sha256);
    expect((await pack(plugin)).files).toContain("dist/conformance.json");
    report("0".repeat(64));
    expect((await pack(plugin)).files).not.toContain("dist/conformance.json");
  });

  test("testing or packing without a build", async () => {
    edit("dist/plugin.js", /^/, "// more\n");
    await refused(() => readBuilt(plugin), "NOT_BUILT", /another bundle.*plugin build/);
    rmSync(join(plugin, "dist"), { recursive: true });
    await refused(pack(plugin), "NOT_BUILT", /plugin build/);
  });
});

describe("install", () => {
  const packed = () => join(folder, "packed.tgz");
  const tar = () => {
    const work = mkdtempSync(join(folder, "tar-"));
    cpSync(plugin, join(work, "package"), { recursive: true, verbatimSymlinks: true });
    execFileSync("tar", ["czf", packed(), "-C", work, "package"]);
  };

  test("of a folder and of its tarball is the same", async () => {
    const { path, integrity } = await pack(plugin);
    const [whole, packed] = [await fetchPackage(plugin), await fetchPackage(path)];
    expect(packed).toMatchObject({ manifest: whole.manifest, integrity, origin: "signalbox-plugin-good-0.1.0.tgz" });
    expect(Buffer.from(packed.bundle).equals(Buffer.from(whole.bundle))).toBe(true);
  });

  test("a changed bundle", async () => {
    edit("dist/plugin.js", /$/, "\n// more");
    await refused(fetchPackage(plugin), "INTEGRITY", /The SHA-256 of dist\/plugin\.js must be/);
    edit("dist/plugin.json", '"0.1.0"', '"0.1.1"');
    writeFileSync(join(plugin, "dist/plugin.js"), readFileSync(join(template, "dist/plugin.js")));
    await refused(fetchPackage(plugin), "MISMATCH", /package.json has version 0\.1\.0, dist\/plugin\.json has 0\.1\.1/);
  });

  test("links", async () => {
    rmSync(join(plugin, "dist/plugin.js"));
    symlinkSync(join(template, "dist/plugin.js"), join(plugin, "dist/plugin.js"));
    await refused(fetchPackage(plugin), "SYMLINK", /dist\/plugin\.js is a symbolic link/);
    tar();
    await refused(fetchPackage(packed()), "SYMLINK", /^packed\.tgz: package\/dist\/plugin\.js is a link to/);
    rmSync(join(plugin, "dist"), { recursive: true });
    symlinkSync(join(template, "dist"), join(plugin, "dist"));
    await refused(fetchPackage(plugin), "SYMLINK", /dist is a symbolic link/);
  });

  test("of a tarball that names its folder in full", async () => {
    const work = mkdtempSync(join(folder, "tar-"));
    cpSync(plugin, join(work, "package"), { recursive: true });
    execFileSync("tar", ["czf", packed(), "-C", work, "./package"]);
    expect((await fetchPackage(packed())).manifest.id).toBe("good");
  });

  test("an entry outside of the package", async () => {
    for (const file of ["package.json", "dist/plugin.json"])
      edit(file, /"manifest": 1/, '"manifest": 1, "entry": "dist/../../up.js"');
    await refused(fetchPackage(plugin), "BAD_MANIFEST", /entry/);
  });

  test("invalid tarballs, and names that npm would read as something else", async () => {
    writeFileSync(packed(), "no tarball");
    await refused(fetchPackage(packed()), "BAD_TARBALL", /made by npm/);
    mkdirSync(join(plugin, "bomb"));
    writeFileSync(join(plugin, "bomb/zeros"), Buffer.alloc(70 * 1024 * 1024));
    tar();
    await refused(fetchPackage(packed()), "BAD_TARBALL", /at most \d+ bytes/);
    for (const spec of ["git+https://example.com/x.git", "https://example.com/x", "owner/repo", "file:x", "-g", "npm:other@1"])
      await refused(fetchPackage(spec), "NO_PACKAGE", /is not a folder, a tarball or a package name/);
    await refused(fetchPackage("./nowhere"), "NO_PACKAGE", /There is no/);
  });
});

test("new: only into an empty folder, whose name is an id", () => {
  expect(() => scaffold({ folder: plugin, kind: "tools" })).toThrow(/is not empty/);
  expect(() => scaffold({ folder: join(folder, "Not An Id"), kind: "tools" })).toThrow(/lower-case letters/);
  expect(() => scaffold({ folder: join(folder, "x"), kind: "stars" })).toThrow(
    /--kind: must be one of the kinds below; it is "stars"\n {2}tools .*\n {2}routes /s,
  );
});
