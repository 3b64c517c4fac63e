import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./process.ts";

/** Copies the sources of a commit, with the packages of this checkout, to a new folder. The caller removes it. */
export function checkOut(commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-old-"));
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  const packages = join(folder, "node_modules");
  mkdirSync(join(packages, "@signalbox"), { recursive: true });
  for (const name of readdirSync(join(root, "node_modules")))
    if (name !== "@signalbox" && !name.startsWith(".")) symlinkSync(join(root, "node_modules", name), join(packages, name));
  for (const name of readdirSync(join(root, "node_modules/@signalbox"))) {
    const places = [name, `plugins/${name.replace(/^plugin-/, "")}`];
    const own = places.map((place) => join(folder, place)).find((one) => existsSync(one));
    if (own) symlinkSync(own, join(packages, "@signalbox", name));
  }
  return folder;
}
