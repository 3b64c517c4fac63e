import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

/** Runs a script in a folder on a disk of 8 KiB, and returns what it writes. */
function onSmallDisk(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-full-"));
  try {
    const sandbox = ["--dev-bind", "/", "/", "--size", "8192", "--tmpfs", folder, "--chdir", folder];
    const { PATH = "" } = process.env;
    const args = [...sandbox, process.execPath, "--input-type=module", "--eval", script];
    const { stdout, stderr } = spawnSync("bwrap", args, { env: { PATH, TMPDIR: folder }, encoding: "utf8" });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const moduleAt = (path: string): string => JSON.stringify(resolve(import.meta.dirname, path));

test("a bundle that does not fit on the disk leaves nothing there", { tags: ["bubblewrap"] }, () => {
  const script = `
    import { readdirSync } from "node:fs";
    import { cachedBundle } from ${moduleAt("bundle-cache.ts")};
    try { cachedBundle(new Uint8Array(20_000)); } catch (error) { console.log(error.code); }
    for (const folder of readdirSync(".")) console.log(folder.replace(/\\d+$/, "N"), readdirSync(folder).length);`;
  expect(onSmallDisk(script)).toBe("ENOSPC\nsignalbox-plugins-N 0\n");
});

test("the lock file of plugins keeps its contents on a full disk, and the error says what to do", {
  tags: ["bubblewrap"],
}, () => {
  const script = `
    import { readdirSync } from "node:fs";
    import { readLock, saveLocked } from ${moduleAt("../cli/plugin/lock.ts")};
    const save = (id) => saveLocked({ manifest: { id, version: "1.0.0", bundle: { sha256: "0" } }, integrity: null, source: "x".repeat(2500) });
    save("one");
    try { save("two"); save("three"); } catch (error) { console.log(error.message); }
    console.log(Object.keys(readLock().plugins).join(), readdirSync(".").join());`;
  expect(onSmallDisk(script)).toMatch(
    /^The change was made in the service, but signalbox-plugins.lock.json could not be written: ENOSPC: .*\. Correct that, and run the command again\.\none signalbox-plugins\.lock\.json\n$/,
  );
});
