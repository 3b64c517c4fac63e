import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build } from "../runtime/cli/plugin/build.ts";
import { readConformance } from "../runtime/cli/plugin/conformance/read-conformance.ts";
import { type Report, runConformance } from "../runtime/cli/plugin/conformance/run.ts";
import { scaffold } from "../runtime/cli/plugin/scaffold.ts";
import { root } from "./harness/process.ts";

/** The plugins in examples/, and those that `plugin new` makes, as strangers: nothing installed, in the sandbox. */
let work: string;
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), "signalbox-examples-"));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

async function play(folder: string): Promise<Report> {
  const config = (await readConformance(folder))?.config ?? {};
  const built = await build(folder, config);
  // What is there already says what the build says.
  expect(built.rewritten).toEqual([]);
  return runConformance({ folder, built, record: false, onCase: () => {} });
}
const failures = ({ cases }: Report) => cases.filter(({ ok }) => !ok).map(({ name, error }) => `${name}: ${error}`);

const examples = readdirSync(join(root, "examples")).filter((name) => {
  const file = join(root, "examples", name, "package.json");
  return existsSync(file) && "signalbox" in JSON.parse(readFileSync(file, "utf8"));
});

describe("examples", () => {
  test("there is one of each of four kinds", () => {
    const kinds = examples.flatMap(
      (name) => JSON.parse(readFileSync(join(root, "examples", name, "package.json"), "utf8")).signalbox.kinds,
    );
    expect([...new Set(kinds)]).toEqual(expect.arrayContaining(["tools", "sources", "memories", "useCases"]));
  });
  test.each(examples)(
    "%s passes",
    async (name) => {
      const folder = join(work, "examples", name);
      cpSync(join(root, "examples", name), folder, {
        recursive: true,
        filter: (path) => !/[\\/](node_modules|dist)$/.test(path),
      });
      const report = await play(folder);
      expect(failures(report)).toEqual([]);
      expect(report.warnings).toEqual([]);
    },
    120_000,
  );
});

describe("plugin new", () => {
  // The tools are in plugin-author.test.ts.
  test.each(["sources", "memories", "useCases"])(
    "--kind %s passes untouched",
    async (kind) => {
      const folder = join(work, `my-${kind.toLowerCase()}`);
      scaffold({ folder, kind });
      const report = await play(folder);
      expect(failures(report)).toEqual([]);
      expect(report.passed).toBeGreaterThan(8);
    },
    120_000,
  );
});
