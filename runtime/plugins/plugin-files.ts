import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { type BuiltManifest, builtManifest } from "@signalbox/sdk/manifest";
import { sha256Of } from "../platform/digest.ts";
import { Refusal } from "./admit.ts";
import { bundleOf } from "./bundle.ts";
import { manifestText } from "./manifest-text.ts";

/** The bundle of a third-party plugin and its manifest, from a folder or the database. None of its code has run. */
export interface PluginFiles {
  /** The name or path that the operator gave. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** `null` if it was not built, so that only running it shows its declaration. */
  readonly manifest: BuiltManifest | null;
}

/**
 * Reads an entry of `SIGNALBOX_PLUGINS`: a folder or package with `dist/plugin.json`, or a module, which is bundled. A path is
 * relative to the working folder, and a package is searched for in its node_modules. Throws a `Refusal`.
 */
export async function readPluginFiles(specifier: string): Promise<PluginFiles> {
  const place = placeOf(specifier);
  const found = statSync(place);
  if (found.isDirectory()) return readFolder(specifier, place);
  // A pipe would be waited for.
  if (!found.isFile())
    throw new Refusal(
      "NOT_FOUND",
      `${place} is not a regular file; name a module, or a folder or package with dist/plugin.json.`,
    );
  const folder = dirname(place);
  for (const root of [folder, dirname(folder)]) {
    if (isFile(join(root, "dist/plugin.json")) && builtEntry(root) === place) return readFolder(specifier, root);
  }
  return { name: specifier, bytes: await bundleOf(place), manifest: null };
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

function placeOf(specifier: string): string {
  if (specifier.startsWith(".") || isAbsolute(specifier)) {
    const file = resolve(specifier);
    if (!existsSync(file)) throw new Refusal("NOT_FOUND", `${file} does not exist.`);
    return file;
  }
  const require = createRequire(resolve("package.json"));
  const found = require.resolve
    .paths(specifier)
    ?.map((folder) => join(folder, specifier))
    .find((folder) => existsSync(join(folder, "package.json")));
  if (found && existsSync(join(found, "dist/plugin.json"))) return found;
  try {
    return require.resolve(specifier);
  } catch (error) {
    throw new Refusal(
      "NOT_FOUND",
      `No package "${specifier}" in node_modules here. Install it, or give the path of its module.`,
      error,
    );
  }
}

function builtEntry(root: string): string | null {
  const { entry } = JSON.parse(readFileSync(join(root, "dist/plugin.json"), "utf8")) as { entry?: unknown };
  return typeof entry === "string" ? join(root, entry) : null;
}

/** Reads a folder with a built plugin: `dist/plugin.json` and the bundle that it names, which is verified by its digest. */
async function readFolder(name: string, folder: string): Promise<PluginFiles> {
  const file = join(folder, "dist/plugin.json");
  if (!isFile(file)) {
    throw new Refusal("NOT_BUILT", `${folder} has no dist/plugin.json; run signalbox plugin build there, or name its module.`);
  }
  const manifest = readManifest(readFileSync(file, "utf8"));
  const bundle = join(folder, manifest.entry);
  if (!existsSync(bundle) || !lstatSync(bundle).isFile())
    throw new Refusal("NOT_FOUND", `${bundle} is missing or not a regular file; run signalbox plugin build.`);
  const bytes = new Uint8Array(readFileSync(bundle));
  checkBundle(manifest, bytes);
  return { name, bytes, manifest };
}

/** `dist/plugin.json` as text. Throws a `Refusal` that names the invalid member. */
export function readManifest(text: string): BuiltManifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal("BAD_MANIFEST", "dist/plugin.json is not valid JSON.");
  }
  const parsed = builtManifest.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Refusal("BAD_MANIFEST", manifestText(parsed.error));
}

/** A bundle that differs from the one that was built does not start. */
export function checkBundle(manifest: BuiltManifest, bytes: Uint8Array): void {
  const actual = sha256Of(bytes);
  if (actual !== manifest.bundle.sha256)
    throw new Refusal(
      "MODIFIED",
      `${manifest.id} ${manifest.version}: the SHA-256 of the bundle must be ${manifest.bundle.sha256}; it is ${actual}.`,
    );
}
