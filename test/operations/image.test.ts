import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, matchesGlob } from "node:path";
import { expect, test } from "vitest";
import { files } from "../architecture/tree.ts";
import { linkPackages } from "../harness/checkout.ts";
import { root } from "../harness/process.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const ignored = read(".dockerignore").split("\n").filter(Boolean);
/** Whether a rule matches the file or one of its folders. */
const isIgnored = (path: string) => {
  const parts = path.split("/");
  return parts.some((_, at) => ignored.some((one) => matchesGlob(parts.slice(0, at + 1).join("/"), one)));
};

test("the image can be built from what .dockerignore leaves of the repository", { timeout: 120_000 }, () => {
  const context = files.filter((path) => !isIgnored(path));
  expect(context).toEqual(expect.arrayContaining(["package-lock.json", "runtime/main.ts", ".ci/package.mjs"]));
  expect(context.filter((path) => /^(examples|test|\.docs)\/|\.test\.ts$/.test(path))).toEqual([]);
  const folder = mkdtempSync(join(tmpdir(), "signalbox-image-"));
  try {
    for (const path of context) cpSync(join(root, path), join(folder, path));
    linkPackages(folder);
    // Without the script before the build, which would miss the packages of the examples and install everything again.
    const build = "npm run build --ignore-scripts";
    expect(read("Dockerfile")).toContain(` && ${build} && `);
    execFileSync("bash", ["-c", build], { cwd: folder, stdio: "pipe" });
    const needed = ["signalbox.js", "boot.js", "embedded-worker.js", "console", "docs", "migrations", "package.json"];
    expect(needed.filter((name) => !existsSync(join(folder, "dist/signalbox", name)))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
