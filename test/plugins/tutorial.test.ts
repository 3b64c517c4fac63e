import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parsePage } from "../../.docs/markdown.ts";
import { root, run, runProgram, runtimeUnderTest } from "../harness/process.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-tutorial-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const plugin = (args: readonly string[], cwd: string) =>
  run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["plugin", ...args], env: {}, cwd });

test("the code of the tutorial is a plugin with correct types that passes the conformance suite in the sandbox", {
  timeout: 240_000,
}, async () => {
  const { fences } = parsePage(readFileSync(join(root, "sdk/tutorial.md"), "utf8"));
  const begin = fences.find(({ text }) => text.startsWith("npm create signalbox-plugin "))?.text ?? "";
  const [, name = "", options = ""] = /^npm create signalbox-plugin (\S+) -- (.+)$/m.exec(begin) ?? [];
  expect((await plugin(["new", name, ...options.split(" ")], folder).ended).code).toBe(0);
  const cwd = join(folder, name);
  for (const [, path = ""] of begin.matchAll(/^rm (\S+)$/gm)) rmSync(join(cwd, path));
  const files = fences.flatMap(({ info, text }) => {
    const path = /^\[(.+)\]$/.exec(info)?.[1];
    return path ? [{ path, text }] : [];
  });
  expect(files.map(({ path }) => path)).toContain("src/source.ts");
  for (const { path, text } of files) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  // Instead of npm install.
  symlinkSync(join(root, "node_modules"), join(cwd, "node_modules"));
  const types = runProgram(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", cwd], { cwd, env: {} });
  expect([(await types.ended).code, types.logs()]).toEqual([0, ""]);
  const tested = plugin(["test"], cwd);
  expect([(await tested.ended).code, tested.logs()]).toEqual([0, expect.any(String)]);
  const report = JSON.parse(readFileSync(join(cwd, "dist/conformance.json"), "utf8"));
  expect(report).toMatchObject({ failed: 0 });
  expect(report.passed).toBeGreaterThan(30);
});
