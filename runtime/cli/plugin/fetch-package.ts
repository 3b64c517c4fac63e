import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve, sep } from "node:path";
import type { BuiltManifest } from "@signalbox/sdk/manifest";
import { sha256Of } from "../../platform/digest.ts";
import { parseBuilt } from "./build.ts";
import { npm } from "./npm.ts";
import { integrityOf } from "./pack.ts";
import { PackageError } from "./package-error.ts";
import { manifestOf } from "./package-file.ts";
import { provenanceOf } from "./provenance.ts";
import { keysOf, signatureOf } from "./signatures.ts";
import { unpack } from "./tarball.ts";

/** A plugin as it is sent to the service. None of its code has run. */
export interface FetchedPackage {
  readonly manifest: BuiltManifest;
  readonly bundle: Uint8Array;
  /** The package with its version, or the file's name. */
  readonly origin: string;
  /** A specification that fetches the same package again: its name with the exact version, or the path as it was given. */
  readonly source: string;
  /** Integrity of the tarball; `null` for a folder. */
  readonly integrity: string | null;
  /** For a package of a registry: one line about where it was built. */
  readonly provenance?: string;
  /** For a package of a registry: one line about the registry's signature on the tarball. */
  readonly signature?: string;
  /** The package's name and its registry, or `file`: an approval is valid for one publisher. */
  readonly publisher: string;
}

/**
 * `name` or `@scope/name`, each with a version, a range or a tag, and nothing that npm would read as a path, an address or a git
 * repository.
 */
export const packageSpec = /^(@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*(@[\w.^~<>=* -]+)?$/i;

/** Reads a folder, a tarball, or a package of the registry that npm is configured for. Throws a `PackageError`. */
export async function fetchPackage(source: string): Promise<FetchedPackage> {
  const path = resolve(source);
  if (existsSync(path)) return { ...(statSync(path).isDirectory() ? fromFolder(path) : await fromTarball(path)), source };
  if (/^[./]|\.t(ar\.)?gz$/.test(source)) throw new PackageError("NO_PACKAGE", `There is no ${path}.`);
  if (!packageSpec.test(source))
    throw new PackageError(
      "NO_PACKAGE",
      `${JSON.stringify(source)} is not a folder, a tarball or a package name such as signalbox-plugin-clock@1.2.0.`,
    );
  return fromRegistry(source);
}

type Contents = Pick<FetchedPackage, "manifest" | "bundle"> & { readonly name: string };

/** Reads a tarball or a folder of this machine. */
export const filePublisher = (name: string): string => `${name} (file)`;

async function fromTarball(path: string): Promise<Omit<FetchedPackage, "source">> {
  const bytes = readFileSync(path);
  const { name, ...contents } = await contentsOf(bytes, basename(path));
  return { ...contents, origin: basename(path), integrity: integrityOf(bytes), publisher: filePublisher(name) };
}

/** Errors name `origin`, because it may not be the intended package. */
async function contentsOf(bytes: Uint8Array, origin: string): Promise<Contents> {
  try {
    const files = await unpack(bytes);
    return readFiles((file) => files.get(file));
  } catch (error) {
    if (error instanceof PackageError) throw new PackageError(error.code, `${origin}: ${error.message}`, error);
    throw error;
  }
}

function fromFolder(folder: string): Omit<FetchedPackage, "source"> {
  const read = (file: string) => {
    const path = join(folder, file);
    if (!path.startsWith(folder + sep) || !existsSync(path)) return undefined;
    // Checks each part of the path, because a linked folder can point outside, just like a linked file.
    for (let at = path; at !== folder; at = resolve(at, "..")) {
      if (lstatSync(at).isSymbolicLink())
        throw new PackageError("SYMLINK", `${at} is a symbolic link; a plugin may contain only regular files.`);
    }
    return readFileSync(path);
  };
  const { name, ...contents } = readFiles(read);
  return { ...contents, origin: basename(folder), integrity: null, publisher: filePublisher(name) };
}

function readFiles(read: (file: string) => Buffer | undefined): Contents {
  const packageJson = json(read, "package.json");
  const { entry } = manifestOf("package.json", packageJson.signalbox);
  const path = entry.includes("/") ? `${entry.slice(0, entry.lastIndexOf("/"))}/plugin.json` : "plugin.json";
  const manifest = parseBuilt(path, json(read, path));
  const bundle = read(manifest.entry);
  if (!bundle) throw new PackageError("NOT_BUILT", `The bundle ${manifest.entry} is missing.`);
  if (sha256Of(bundle) !== manifest.bundle.sha256)
    throw new PackageError(
      "INTEGRITY",
      `The SHA-256 of ${manifest.entry} must be ${manifest.bundle.sha256}, as ${path} says; it is ${sha256Of(bundle)}.`,
    );
  if (packageJson.version !== manifest.version)
    throw new PackageError(
      "MISMATCH",
      `package.json has version ${packageJson.version}, ${path} has ${manifest.version}: run \`signalbox plugin build\` again.`,
    );
  return { manifest, bundle, name: typeof packageJson.name === "string" ? packageJson.name : "" };
}

function json(read: (file: string) => Buffer | undefined, file: string): Record<string, unknown> {
  const bytes = read(file);
  if (!bytes)
    throw new PackageError(
      "NOT_BUILT",
      `There is no ${file}; a plugin is built with \`signalbox plugin build\` before it is packed.`,
    );
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {}
  throw new PackageError("BAD_MANIFEST", `${file} is not a JSON object.`);
}

/**
 * Uses npm itself, so that its registries, credentials, proxies and certificates apply. `npm pack` downloads the tarball from the
 * registry and verifies its integrity. It installs nothing and runs no scripts.
 */
async function fromRegistry(spec: string): Promise<FetchedPackage> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-package-"));
  try {
    const stdout = await npm(["pack", "--ignore-scripts", "--json", "--pack-destination", folder, spec], spec);
    const [tarball] = Object.values(JSON.parse(stdout)) as {
      filename: string;
      name: string;
      version: string;
      integrity: string;
    }[];
    if (!tarball) throw new PackageError("REGISTRY", `${spec}: npm returned no package.`);
    const bytes = readFileSync(join(folder, basename(tarball.filename)));
    const integrity = integrityOf(bytes);
    if (integrity !== tarball.integrity)
      throw new PackageError(
        "INTEGRITY",
        `${spec}: the integrity of the tarball must be ${tarball.integrity}, as the registry says; it is ${integrity}.`,
      );
    const origin = `${tarball.name}@${tarball.version}`;
    const { name, ...contents } = await contentsOf(bytes, origin);
    // The author decides the contents of the package; only the registry determines its name.
    if (name !== tarball.name) throw new PackageError("MISMATCH", `${origin}: its package.json is named ${name}.`);
    const registry = await registryOf(tarball.name);
    const publisher = `${tarball.name} (${registry})`;
    const keys = await keysOf(registry);
    const signature = await signatureOf(tarball.name, tarball.version, integrity, keys);
    const provenance = await provenanceOf(tarball.name, tarball.version, integrity, keys);
    return { ...contents, origin, source: origin, integrity, publisher, signature, provenance };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The registry that npm is configured to fetch this package from. */
async function registryOf(name: string): Promise<string> {
  const get = async (key: string) => (await npm(["config", "get", key], name).catch(() => "")).trim();
  const scope = name.startsWith("@") ? await get(`${name.split("/")[0]}:registry`) : "";
  return scope !== "" && scope !== "undefined" ? scope : (await get("registry")) || "unknown registry";
}
