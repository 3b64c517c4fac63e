import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { isEmptyFolder } from "./embedded.ts";
import { claimFolder, FolderInUse, listenAt } from "./folder-claim.ts";

const work = mkdtempSync(join(tmpdir(), "signalbox-claim-"));
const other = join(work, "tmp");
mkdirSync(other);
afterAll(() => rmSync(work, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

/** What a file system without sockets answers. */
const noSockets: typeof listenAt = (path) =>
  path.endsWith("/signalbox.sock")
    ? Promise.reject(Object.assign(new Error("operation not permitted"), { code: "EPERM" }))
    : listenAt(path);
const dies = `require("node:net").createServer().listen("signalbox.sock", () => process.kill(process.pid, "SIGKILL"))`;

test.each([
  ["a folder", "short", listenAt],
  ["a folder whose path is too long for a socket", `${"long/".repeat(30)}end`, listenAt],
  ["a folder without sockets", "without", noSockets],
])("only one process uses %s, also if the temporary folder of another is a different one", async (_, name, listen) => {
  const folder = join(work, name);
  mkdirSync(folder, { recursive: true });
  for (const _turn of [1, 2]) {
    const release = await claimFolder(folder, listen);
    vi.stubEnv("TMPDIR", other);
    await expect(claimFolder(folder, listen)).rejects.toThrow(FolderInUse);
    await expect(claimFolder(folder, listen)).rejects.toThrow("is in use by another Signalbox process");
    await release();
    expect([readdirSync(folder), readdirSync(other)]).toEqual([[], []]);
    vi.unstubAllEnvs();
  }
});

test("neither a folder nor its copy is in use after a kill -9", async () => {
  for (const name of ["killed", `${"killed/".repeat(20)}end`]) {
    const folder = join(work, name);
    mkdirSync(folder, { recursive: true });
    spawnSync(process.execPath, ["-e", dies], { cwd: folder });
    expect([readdirSync(folder), isEmptyFolder(folder)]).toEqual([["signalbox.sock"], true]);
    const copy = `${folder}-copy`;
    execFileSync("cp", ["-R", folder, copy]);
    const releases = [await claimFolder(folder), await claimFolder(copy)];
    await Promise.all(releases.map((release) => release()));
    expect([readdirSync(folder), readdirSync(copy)]).toEqual([[], []]);
    rmSync(join(work, "killed"), { recursive: true });
  }
});
