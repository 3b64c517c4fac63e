import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./process.ts";

/**
 * Copies the sources of a commit to a new folder, with the packages of this checkout, or with its own if one of
 * them is missing here. The caller removes it.
 */
export function checkOut(commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-old-"));
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  if (isPackageMissing(folder)) {
    execFileSync("npm", ["ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder, stdio: "inherit" });
    return folder;
  }
  linkPackages(folder);
  return folder;
}

/** Gives a copy of sources the packages of this checkout. Those of the workspaces lead to the copy. */
export function linkPackages(folder: string): void {
  const packages = join(folder, "node_modules");
  mkdirSync(join(packages, "@signalbox"), { recursive: true });
  for (const name of readdirSync(join(root, "node_modules")))
    if (name !== "@signalbox" && (name === ".bin" || !name.startsWith(".")))
      symlinkSync(join(root, "node_modules", name), join(packages, name));
  for (const name of readdirSync(join(root, "node_modules/@signalbox"))) {
    const places = [name, `plugins/${name.replace(/^plugin-/, "")}`];
    const own = places.map((place) => join(folder, place)).find((one) => existsSync(one));
    if (own) symlinkSync(own, join(packages, "@signalbox", name));
  }
}

function isPackageMissing(folder: string): boolean {
  const { packages } = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { readonly dev?: boolean; readonly optional?: boolean; readonly link?: boolean }>;
  };
  return Object.entries(packages).some(
    ([path, { dev, optional, link }]) =>
      path.startsWith("node_modules/") && !dev && !optional && !link && !existsSync(join(root, path)),
  );
}
