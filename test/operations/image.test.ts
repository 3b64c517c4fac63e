import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../harness/process.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

test("the image can be built: .dockerignore leaves out what the links of the README lead to, and its build needs none of it", () => {
  expect(read(".dockerignore").split("\n")).toEqual(expect.arrayContaining([".docs", "examples", "test"]));
  const script = `const { withAbsoluteLinks } = await import(${JSON.stringify(join(root, ".ci/package-readme.mjs"))});
process.stdout.write(withAbsoluteLinks("README.md", ${read("package.json")}));`;
  const folder = mkdtempSync(join(tmpdir(), "signalbox-image-"));
  writeFileSync(join(folder, "README.md"), read("README.md"));
  try {
    const text = execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: folder, encoding: "utf8" });
    expect(text).toMatch(/\(https:\/\/github\.com\/signalbox\/signalbox\/blob\/v[\d.]+\/\.docs\/guides\/start\.md\)/);
  } finally {
    rmSync(folder, { recursive: true });
  }
  // The script before the build compares the packages with all those of the lock, and would install them again.
  expect(read("Dockerfile")).toContain("npm run build --ignore-scripts");
});
