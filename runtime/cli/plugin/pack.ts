import { createHash } from "node:crypto";
import { existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack as tarPack } from "tar-stream";
import { readBuilt } from "./build.ts";
import { type Report, reportPathOf } from "./conformance/report.ts";
import { PackageError } from "./package-error.ts";
import { readPackage } from "./package-file.ts";

interface PackResult {
  readonly path: string;
  /** In npm's format: `sha512-…`. */
  readonly integrity: string;
  readonly files: readonly string[];
  readonly bytes: number;
}

const extraFiles = ["README.md", "LICENSE", "LICENSE.md", "CHANGELOG.md"];
/** The same for every file, as in npm, so that the same contents result in the same tarball. */
const mtime = new Date("1985-10-26T08:15:00.000Z");

/** Packs a build as npm would: package.json, the bundle with its manifest and report, and the readme. Runs no scripts. */
export async function pack(folder: string): Promise<PackResult> {
  const { manifest } = readBuilt(folder);
  const { name, version } = readPackage(folder);
  const dist = dirname(manifest.entry);
  const report = reportPathOf(manifest.entry);
  const files = ["package.json", ...extraFiles, manifest.entry, join(dist, "plugin.json"), report].filter(
    (file) => existsSync(join(folder, file)) && (file !== report || isOf(join(folder, report), manifest.bundle.sha256)),
  );
  const tar = tarPack();
  for (const file of files.sort()) {
    if (!lstatSync(join(folder, file)).isFile()) throw new PackageError("SYMLINK", `${file} is not a regular file.`);
    tar.entry({ name: `package/${file}`, mode: 0o644, mtime }, readFileSync(join(folder, file)));
  }
  tar.finalize();
  const bytes = gzipSync(await buffer(tar), { level: 9 });
  const path = join(folder, `${name.replace(/^@/, "").replace("/", "-")}-${version}.tgz`);
  writeFileSync(path, bytes);
  return { path, files, bytes: bytes.byteLength, integrity: integrityOf(bytes) };
}

/** A report on another bundle does not apply to this one. */
function isOf(report: string, sha256: string): boolean {
  try {
    return (JSON.parse(readFileSync(report, "utf8")) as Report).plugin.sha256 === sha256;
  } catch {
    return false;
  }
}

export const integrityOf = (bytes: Uint8Array): string => `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
