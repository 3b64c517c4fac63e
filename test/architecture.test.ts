import { describe, expect, test } from "vitest";
import { retiredNames } from "./architecture/retired-names.ts";
import { floorsOf, roomCycles } from "./architecture/rooms.ts";
import { cycles, packageOf, type Source } from "./architecture/source.ts";
import { sources } from "./architecture/sources.ts";
import { files, isGenerated, isTest, textOf } from "./architecture/tree.ts";

const topLevel = [
  "runtime",
  "plugins",
  "sdk",
  "schema",
  "migrations",
  "examples",
  "test",
  ".ci",
  ".github",
  ".docs",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.types.json",
  "tsup.config.ts",
  "vitest.config.ts",
  "biome.json",
  "README.md",
  "LICENSE",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "Dockerfile",
  "compose.yaml",
  ".dockerignore",
  ".gitignore",
  ".env.example",
];
const transports = ["transports", "cli"];
/** The packages that only one file of the runtime may import. */
const wrapped = ["postgres", "ioredis", "openai"];

/** Files that pass on SQL of others, and whose SQL it is. */
const librarySql: Readonly<Record<string, string>> = {
  "runtime/gateway/counters.ts": "the library's that limits rates",
};

const code = sources.filter(({ path }) => !isTest(path));
const within = (folder: string, all: readonly Source[] = code) => all.filter(({ path }) => path.startsWith(`${folder}/`));
/** `path: import` of the imports that `allowed` refuses. */
const badImports = (all: readonly Source[], allowed: (from: string, file: string | null, source: Source) => boolean) =>
  all.flatMap((source) =>
    source.imports.filter(({ from, file }) => !allowed(from, file, source)).map(({ from }) => `${source.path}: ${from}`),
  );

describe("who may import whom", () => {
  test("schema: zod only", () => {
    expect(badImports(within("schema"), (from, file) => from === "zod" || inFolder(file, "schema"))).toEqual([]);
  });
  test("sdk: schema and zod", () => {
    const allowed = (from: string, file: string | null) =>
      inFolder(file, "sdk") || ["zod", "@signalbox/schema"].includes(packageOf(from)) || from.startsWith("node:");
    expect(badImports(within("sdk", sources), (from, file) => allowed(from, file) || from === "vitest")).toEqual([]);
  });
  test("plugins and examples: the sdk and their own packages; never the runtime, never one another", () => {
    const outside = [...within("plugins", sources), ...within("examples", sources)];
    const allowed = (from: string, file: string | null, source: Source) =>
      file === null
        ? !/^@signalbox\//.test(from) || ["@signalbox/sdk", "@signalbox/schema"].includes(packageOf(from)) || !isRuntime(from)
        : inFolder(file, source.path.split("/").slice(0, 2).join("/"));
    const strict = (from: string, file: string | null, source: Source) =>
      allowed(from, file, source) && !(from.startsWith("@signalbox/plugin-") && !isTest(source.path));
    expect(badImports(outside, strict)).toEqual([]);
  });
  test("a folder of the runtime that is no transport imports none", () => {
    const nouns = within("runtime").filter(({ path }) => {
      const [, folder = "", inner] = path.split("/");
      return inner !== undefined && ![...transports, "generate"].includes(folder);
    });
    const isTransport = (file: string | null) => transports.some((name) => inFolder(file, `runtime/${name}`));
    expect(badImports(nouns, (_, file) => !isTransport(file))).toEqual([]);
  });
  test("a transport imports no noun's operations or queries", () => {
    const all = transports.flatMap((name) => within(`runtime/${name}`));
    const own = (file: string, source: Source) => file.startsWith(source.path.split("/").slice(0, 2).join("/"));
    expect(
      badImports(all, (_, file, source) => !file || own(file, source) || !/^runtime\/.+\/(operations|queries)\.ts$/.test(file)),
    ).toEqual([]);
  });
  test("the client of the console runs in browsers: its own files, the generated types, and packages without Node", () => {
    const client = "runtime/console/client";
    const packages = ["preact", "@preact/signals", "dompurify", "marked"];
    const own = (from: string, file: string | null) =>
      file === null ? packages.includes(packageOf(from)) : inFolder(file, client) || file === "schema/gen/client.ts";
    // No browser loads its tests, which compare its words with the texts of the service.
    const loaded = within(client, sources).filter(({ path }) => !isTest(path));
    expect(loaded.length).toBeGreaterThan(50);
    expect(badImports(loaded, own)).toEqual([]);
    const others = sources.filter(({ path }) => !path.startsWith(`${client}/`));
    expect(badImports(others, (_, file) => !inFolder(file, client))).toEqual([]);
  });
  test("the runtime imports nothing of examples and test; its tests may use the harness", () => {
    const all = [...within("runtime", sources), ...within("plugins", sources), ...within("sdk", sources)];
    const allowed = (file: string | null, { path }: Source) =>
      (!inFolder(file, "examples") && !inFolder(file, "test")) || (isTest(path) && inFolder(file, "test/harness"));
    expect(badImports(all, (_, file, source) => allowed(file, source))).toEqual([]);
  });
  const cases = within("test", sources).filter(({ path }) => !/^test\/(harness|bench|architecture|runner)[/.]/.test(path));
  test("black-box tests import nothing of the runtime but the templates that it gives to authors", () => {
    const allowed = (file: string | null) => !inFolder(file, "runtime") || inFolder(file, "runtime/cli/plugin/templates");
    expect(badImports(cases, (_, file) => allowed(file))).toEqual([]);
  });
  test("black-box tests run no SQL: the harness has what no operation offers", () => {
    const texts = cases.flatMap(({ path, sql }) => sql.map((line) => `${path}:${line}`));
    const calls = cases.filter(({ path }) => /\.query\(|from "postgres"/.test(textOf(path))).map(({ path }) => path);
    expect([...texts, ...calls]).toEqual([]);
  });
  test.each(wrapped)("one file of the runtime imports %s", (name) => {
    const users = within("runtime").filter(({ imports }) => imports.some(({ from }) => packageOf(from) === name));
    expect(users.map(({ path }) => path).slice(1)).toEqual([]);
  });
  test("no import cycle between files, imports of types counted", () => {
    expect(cycles(sources)).toEqual([]);
  });
  test("no import cycle between rooms, imports of types counted", () => {
    expect(roomCycles(code)).toEqual([]);
  });
  test("a room imports only rooms on lower floors, and there are at most nine floors", () => {
    const floors = floorsOf(code);
    console.log(
      [...floors]
        .sort(([, a], [, b]) => a - b)
        .map(([room, floor]) => `${floor} ${room}`)
        .join(", "),
    );
    expect([...floors].filter(([, floor]) => floor > 8)).toEqual([]);
  });
});

describe("where things are", () => {
  test("SQL only in queries.ts and database/", () => {
    const elsewhere = within("runtime").filter(
      ({ path }) => !/\/queries\.ts$|\/[a-z-]+-queries\.ts$|^runtime\/platform\/database\//.test(path) && !librarySql[path],
    );
    expect(elsewhere.flatMap(({ path, sql }) => sql.map((line) => `${path}:${line}`))).toEqual([]);
  });
  test("only config.ts reads the environment", () => {
    const others = [...within("runtime"), ...within("sdk"), ...within("schema"), ...within("plugins")];
    const readers = others.filter(({ path }) => path !== "runtime/platform/config.ts");
    expect(readers.flatMap(({ path, environment }) => environment.map((line) => `${path}:${line}`))).toEqual([]);
  });
  test("only make-folder.ts creates folders with their parents: a recursive mkdir below /proc never returns", () => {
    expect(within("runtime").filter(({ path }) => /\bmkdir(Sync)?\(.*\brecursive\b/.test(textOf(path)))).toEqual([]);
  });
  test("the top level", () => {
    expect(files.filter((path) => !topLevel.includes(path.split("/")[0] as string))).toEqual([]);
  });
  test("no retired names", () => {
    const name = new RegExp(`\\b(${Object.keys(retiredNames).join("|")})\\b`, "g");
    const written = [...sources.map(({ path }) => path), ...files.filter((path) => /(?<!CHANGELOG)\.(md|ya?ml|mjs)$/.test(path))];
    const found = written
      .filter((path) => path !== "test/architecture/retired-names.ts")
      .flatMap((path) => [...textOf(path).matchAll(name)].map(([old]) => `${path}: ${old} (write: ${retiredNames[old]})`));
    expect(found).toEqual([]);
  });
  test("no folders with vague names", () => {
    expect(files.filter((path) => /(^|\/)(utils?|helpers?|services?|common|misc|lib|shared)\//.test(path))).toEqual([]);
  });
  test("migrations have a number each", () => {
    const names = files.filter((path) => path.startsWith("migrations/") && path.endsWith(".sql")).map((path) => path.slice(11));
    expect(names.filter((name) => !/^\d{4}_[a-z0-9_]+\.sql$/.test(name))).toEqual([]);
    expect(new Set(names.map((name) => name.slice(0, 4))).size).toBe(names.length);
  });
  test("nothing names the machine that it was written on", () => {
    const self = "test/architecture.test.ts";
    const place =
      /(?<![\w.$}-])\/(?:work|root|home\/\w+|Users\/\w+)\/|verdaccio|artifactory|npmmirror|"resolved": "(?!https:\/\/registry\.npmjs\.org\/)http/;
    expect(files.filter((path) => path !== self && place.test(textOf(path)))).toEqual([]);
  });
  test("one version", () => {
    const { version } = JSON.parse(textOf("package.json")) as { version: string };
    expect(textOf("runtime/platform/version.ts")).toContain(`version = "${version}"`);
    const sdk = JSON.parse(textOf("sdk/package.json")) as { version: string };
    expect(textOf("sdk/plugin.ts")).toContain(`SDK_VERSION = "${sdk.version}"`);
  });
});

describe("the path from webhook to comment, in runtime/README.md", () => {
  const [, section = ""] = textOf("runtime/README.md").split("## From webhook to comment");
  const path = [...section.matchAll(/`([a-z/-]+\.ts):(\w+)`/g)].map(([, file = "", name = ""]) => ({ file, name }));
  test("has at most twelve files, from the endpoint to the post", () => {
    const unique = [...new Set(path.map(({ file }) => file))];
    expect(unique.length).toBeLessThanOrEqual(12);
    expect([unique[0], unique.at(-1)]).toEqual(["transports/http/webhook.ts", "execution/post.ts"]);
  });
  test("names files and functions that exist", () => {
    const missing = path.filter(({ file, name }) => {
      const source = code.find((one) => one.path === `runtime/${file}`);
      return !source?.functions.some((one) => one.name === name);
    });
    expect(missing).toEqual([]);
  });
});

describe("how files are written", () => {
  test("400 lines at most; the median at 120 or less", () => {
    const sizes = sources.map(({ lines }) => lines).sort((a, b) => a - b);
    const median = sizes[Math.floor(sizes.length / 2)] ?? 0;
    const soft = sources.filter(({ lines }) => lines > 250).map(({ path, lines }) => `${path} ${lines}`);
    console.log(`${sizes.length} files, median ${median} lines, longest ${sizes.at(-1)}; over 250: ${soft.join(", ") || "none"}`);
    expect(sources.filter(({ lines }) => lines > 400).map(({ path, lines }) => `${path}: ${lines} lines`)).toEqual([]);
    expect(median).toBeLessThanOrEqual(120);
  });
  test("object literals list their members instead of spreading groups of them", () => {
    expect(sources.filter(({ path }) => /\.{3}\{/.test(textOf(path))).map(({ path }) => path)).toEqual([]);
  });
  // The anonymous functions of a test file are its cases.
  test("functions of 50 lines at most, inner ones counted for themselves", () => {
    const long = sources.flatMap(({ path, functions }) =>
      functions
        .filter(({ name, lines }) => lines > 50 && !(isTest(path) && name === "(anonymous)"))
        .map(({ name, lines }) => `${path} ${name}: ${lines}`),
    );
    expect(long).toEqual([]);
  });
  test("ids have the same names in every log line: execution_id, not execution", () => {
    const id = /^(event|execution|task|agent|request|trace)(Id)?$/;
    const found = within("runtime").flatMap(({ path, logFields }) =>
      logFields.filter(({ name }) => id.test(name)).map(({ name, line }) => `${path}:${line} ${name}`),
    );
    expect(found).toEqual([]);
  });
  test("kebab-case names", () => {
    const name = /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.config|\.d)?\.[cm]?[tj]sx?$/;
    const bad = files.filter(
      (path) => /\.[cm]?[tj]sx?$/.test(path) && !isGenerated(path) && !name.test(path.slice(path.lastIndexOf("/") + 1)),
    );
    expect(bad).toEqual([]);
  });
  test("no barrels but the entries of the sdk", () => {
    const entries = ["sdk/index.ts", "sdk/testing/index.ts"];
    expect(sources.filter(({ path, isBarrel }) => isBarrel && !entries.includes(path)).map(({ path }) => path)).toEqual([]);
  });
  test("named exports only, except a plugin's entry", () => {
    const may = (path: string) =>
      /^plugins\/[^/]+\/index\.ts$|^[a-z]+\.config\.ts$/.test(path) || textOf(path).includes("definePlugin(");
    expect(sources.filter(({ path, hasDefaultExport }) => hasDefaultExport && !may(path)).map(({ path }) => path)).toEqual([]);
  });
});

const inFolder = (file: string | null, folder: string): boolean => file?.startsWith(`${folder}/`) === true;
const isRuntime = (from: string): boolean => /^(signalbox|@signalbox\/runtime)/.test(from);
