import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { watchSaves } from "./saves.ts";

test("every save is noticed, however the editor writes the file", { timeout: 30_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-saves-"));
  const stop = new AbortController();
  const write = (path: string) => writeFileSync(join(folder, path), String(Math.random()));
  mkdirSync(join(folder, "src"));
  for (const path of ["package.json", "src/plugin.ts"]) write(path);
  const saves = watchSaves(folder, (path) => path === "package.json", stop.signal)[Symbol.asyncIterator]();
  const next = async (act: () => void) => {
    act();
    return (await saves.next()).value;
  };
  const byRename = () => {
    write("src/.plugin.ts.tmp");
    renameSync(join(folder, "src/.plugin.ts.tmp"), join(folder, "src/plugin.ts"));
  };
  // A watch of the file itself would watch the removed file.
  for (const _ of [1, 2, 3]) expect(await next(byRename)).toEqual(["src/plugin.ts"]);
  expect(await next(() => write("src/plugin.ts"))).toEqual(["src/plugin.ts"]);
  const byBackup = () => {
    renameSync(join(folder, "src/plugin.ts"), join(folder, "src/plugin.ts~"));
    write("src/plugin.ts");
  };
  expect(await next(byBackup)).toEqual(["src/plugin.ts"]);
  const inNewFolders = () => {
    mkdirSync(join(folder, "test/http"), { recursive: true });
    write("test/http/one.json");
  };
  expect(await next(inNewFolders)).toEqual(["test/http/one.json"]);
  // Neither its own writes nor built files count; the first save after them is the next one.
  const ofOthers = () => {
    mkdirSync(join(folder, "dist"));
    for (const path of ["package.json", "dist/plugin.js", "src/plugin.ts"]) write(path);
  };
  expect(await next(ofOthers)).toEqual(["src/plugin.ts"]);
  rmSync(join(folder, "test"), { recursive: true });
  byRename();
  expect((await saves.next()).value).toEqual(["src/plugin.ts"]);
  stop.abort();
  expect((await saves.next()).done).toBe(true);
  rmSync(folder, { recursive: true });
});
