import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parsePage } from "../../.docs/markdown.ts";
import { root, run, runtimeUnderTest } from "../harness/process.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-tutorial-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the files of the tutorial are a plugin that passes the conformance suite in the sandbox", {
  timeout: 240_000,
}, async () => {
  const files = parsePage(readFileSync(join(root, "sdk/tutorial.md"), "utf8")).fences.flatMap(({ info, text }) => {
    const name = /^\[(.+)\]$/.exec(info)?.[1];
    return name ? [{ name, text }] : [];
  });
  expect(files.map(({ name }) => name)).toContain("src/source.ts");
  for (const { name, text } of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const child = run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["plugin", "test"], env: {}, cwd: folder });
  const { code } = await child.ended;
  expect([code, child.logs()]).toEqual([0, expect.any(String)]);
  const report = JSON.parse(readFileSync(join(folder, "dist/conformance.json"), "utf8"));
  expect(report).toMatchObject({ failed: 0 });
  expect(report.passed).toBeGreaterThan(30);
});
