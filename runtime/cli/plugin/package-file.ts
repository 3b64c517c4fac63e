import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SDK_VERSION } from "@signalbox/sdk";
import { type Manifest, manifest } from "@signalbox/sdk/manifest";
import { messageOf } from "../../platform/error-text.ts";
import { manifestText } from "../../plugins/manifest-text.ts";
import { PackageError } from "./package-error.ts";

/** The package.json of a plugin. */
export interface PackageFile {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** Source of the bundle, relative to the folder. */
  readonly source: string;
  /** The part of the manifest that the author writes, without the part that follows from the declaration. */
  readonly manifest: Omit<Manifest, "kinds" | "sdk" | "needs" | "about">;
  /** The members as they are in the file. */
  readonly json: Readonly<Record<string, unknown>>;
}

const sources = ["src/plugin.ts", "src/index.ts", "plugin.ts", "index.ts", "src/plugin.js", "src/index.js", "index.js"];

/** Throws a `PackageError` if this package.json is missing. */
export function requirePackageFile(path: string): void {
  if (!existsSync(path))
    throw new PackageError(
      "NO_PACKAGE",
      `${path} does not exist. Change to the plugin's folder or name it; \`signalbox plugin new <folder>\` creates one.`,
    );
}

/** Reads the package.json of the plugin in `folder`. Throws a `PackageError`. */
export function readPackage(folder: string): PackageFile {
  const path = join(folder, "package.json");
  requirePackageFile(path);
  const json = readJson(path);
  const { name, version, type } = json;
  if (typeof name !== "string" || typeof version !== "string")
    throw new PackageError("BAD_PACKAGE", `${path}: expected "name" and "version".`);
  // Without it, a program that loads the bundle as a file would treat it as CommonJS.
  if (type !== "module")
    throw new PackageError("BAD_PACKAGE", `${path}: "type" must be "module"; it is ${JSON.stringify(type)}.`);
  if (Object.keys((json.dependencies as object | undefined) ?? {}).length > 0)
    throw new PackageError(
      "BAD_PACKAGE",
      `${path}: must not have "dependencies", because nothing is installed with a plugin. Move them to "devDependencies": they are bundled.`,
    );
  return {
    path,
    name,
    version,
    source: sourceOf(folder, json),
    manifest: manifestOf(path, withDerivedMembers(json.signalbox)),
    json,
  };
}

/** The author's part of a manifest, with placeholders for the part that follows from the declaration. */
function withDerivedMembers(own: unknown): unknown {
  if (typeof own !== "object" || own === null || Array.isArray(own)) return own;
  const { about: _, ...rest } = own as Record<string, unknown>;
  return { ...rest, kinds: ["tools"], sdk: `^${SDK_VERSION}`, needs: ["fetch", "operations"] };
}

export function manifestOf(path: string, value: unknown): Manifest {
  if (value === undefined)
    throw new PackageError("BAD_MANIFEST", `${path}: "signalbox" is required; it must be the plugin's manifest.`);
  const parsed = manifest.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PackageError("BAD_MANIFEST", `${path}: ${manifestText(parsed.error)}`);
}

function sourceOf(folder: string, raw: Readonly<Record<string, unknown>>): string {
  const named = raw.source;
  if (typeof named === "string") {
    if (existsSync(join(folder, named))) return named;
    throw new PackageError("NO_SOURCE", `package.json names the source ${named}, which does not exist.`);
  }
  const found = sources.find((one) => existsSync(join(folder, one)));
  if (found) return found;
  throw new PackageError(
    "NO_SOURCE",
    `No source file: there is none of ${sources.join(", ")}, and package.json has no "source".`,
  );
}

export function readJson(path: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw new PackageError("NO_PACKAGE", `There is no ${path}.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PackageError("NO_PACKAGE", `${path} is not valid JSON: ${messageOf(error)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new PackageError("NO_PACKAGE", `${path} is not a JSON object.`);
}

/**
 * Writes the part of the manifest that follows from the declaration, and does not change the author's part (permissions, secrets,
 * limits, title). Returns the members that changed.
 */
export function writeDerived(file: PackageFile, derivedMembers: Readonly<Record<string, unknown>>): string[] {
  const before = file.json.signalbox as Record<string, unknown>;
  const after: Record<string, unknown> = { ...before };
  for (const [member, value] of Object.entries(derivedMembers)) {
    if (value === undefined) delete after[member];
    else after[member] = value;
  }
  const changed = Object.keys(derivedMembers).filter(
    (member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]),
  );
  if (changed.length > 0) writeFileSync(file.path, `${JSON.stringify({ ...file.json, signalbox: after }, null, 2)}\n`);
  return changed;
}
