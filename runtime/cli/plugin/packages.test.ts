import { execFile } from "node:child_process";
import { cpSync, existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build } from "./build.ts";
import { readConformance } from "./conformance/read-conformance.ts";
import type { Report } from "./conformance/report.ts";
import { runConformance } from "./conformance/run.ts";
import { kinds } from "./kinds.ts";
import { scaffold } from "./scaffold.ts";

const root = join(import.meta.dirname, "../../..");

/**
 * The separate packages of plugins, and the plugins that `plugin new` creates, tested like third-party ones: without installed
 * packages, in the sandbox.
 */
let work: string;
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), "signalbox-examples-"));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

async function run(folder: string): Promise<Report> {
  const config = (await readConformance(folder))?.config ?? {};
  const pluginBuild = await build(folder, config);
  // The existing values already match those of the build.
  expect(pluginBuild.changedMembers).toEqual([]);
  return runConformance({ folder, pluginBuild, record: false, onCase: () => {} });
}
const failures = ({ cases }: Report) => cases.filter(({ ok }) => !ok).map(({ name, error }) => `${name}: ${error}`);

/** Their cases use a fake platform, whose address is a setting; none contacts the platform itself. */
const ofThePlatform = /^the permission (GET|POST) https:\/\/(api\.linear\.app|slack\.com) was not used by any case$/;

/** Folders of the plugins with separate packages. */
const packages = ["examples", "plugins"]
  .flatMap((room) => readdirSync(join(root, room)).map((name) => `${room}/${name}`))
  .filter((folder) => {
    const file = join(root, folder, "package.json");
    return existsSync(file) && "signalbox" in JSON.parse(readFileSync(file, "utf8"));
  });
/** The software that the conformance file of a message bus starts, as a tag. */
const needs = (folder: string) =>
  folder === "plugins/queue-nats"
    ? ["nats-server" as const]
    : folder === "plugins/queue-amqp"
      ? ["rabbitmq-server" as const]
      : [];

// Run concurrently, because most of their time is waiting for faults to end.
describe.concurrent("packages", () => {
  test("there is one plugin of each of four kinds", () => {
    const kinds = packages.flatMap(
      (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")).signalbox.kinds,
    );
    expect([...new Set(kinds)]).toEqual(expect.arrayContaining(["tools", "sources", "memories", "useCases"]));
  });
  for (const path of packages)
    test(`${path} passes`, { timeout: 300_000, tags: needs(path) }, async () => {
      const folder = join(work, path);
      cpSync(join(root, path), folder, {
        recursive: true,
        filter: (path) => !/[\\/](node_modules|dist)$/.test(path),
      });
      const report = await run(folder);
      expect(failures(report)).toEqual([]);
      expect(report.warnings.filter((warning) => !ofThePlatform.test(warning))).toEqual([]);
    });
});

describe.concurrent("plugin new", () => {
  test("the tests that each brings pass", async () => {
    const own = globSync("runtime/cli/plugin/templates/*/test/plugin.test.ts", { cwd: root });
    expect(own.length).toBe(Object.keys(kinds).length);
    // Without the variables by which a test process of Node detects that another one started it.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(join(root, "node_modules/.bin/node"), ["--test", ...own], { cwd: root, env });
    expect(stdout).toMatch(/fail 0$/m);
  }, 240_000);
  // The tools are in test/plugins/author.test.ts.
  test.each(Object.keys(kinds).filter((kind) => kind !== "tools"))(
    "--kind %s passes untouched",
    async (kind) => {
      const folder = join(work, `my-${kind.toLowerCase()}`);
      scaffold({ folder, kind });
      const report = await run(folder);
      expect(failures(report)).toEqual([]);
      expect(report.passed).toBeGreaterThan(8);
    },
    120_000,
  );
  test("an invalid result of parse is reported as such, not as an error that it threw", async () => {
    const folder = join(work, "wrong-parse");
    scaffold({ folder, kind: "sources" });
    const file = join(folder, "src/parse.ts");
    writeFileSync(file, readFileSync(file, "utf8").replace("marked: hasMarker(body)", 'marked: "no" as never'));
    const report = failures(await run(folder)).join("\n");
    expect(report).toMatch(/parse must return a SourceEvent; The answer of sources\.\S+\.parse is not valid: marked: /);
    expect(report).not.toContain("it threw");
  }, 120_000);
});
