import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PluginError } from "@signalbox/sdk";
import { type BuiltManifest, builtManifest } from "@signalbox/sdk/manifest";
import { sha256Of } from "../../platform/digest.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import { admitDeclared, Refusal } from "../../plugins/admit.ts";
import { manifestText } from "../../plugins/manifest-text.ts";
import type { BundleDeclaration } from "../../plugins/sandbox/initialize.ts";
import { openSandbox } from "../../plugins/sandbox/open.ts";
import { bundle } from "./bundle.ts";
import { PackageError } from "./package-error.ts";
import { manifestOf, type PackageFile, readJson, readPackage, writeDerived } from "./package-file.ts";

export interface PluginBuild {
  readonly manifest: BuiltManifest;
  /** Path of the bundle. */
  readonly bundle: string;
  /** Members of `signalbox` in package.json that were rewritten. */
  readonly changedMembers: readonly string[];
}

/** Path of the built manifest, next to the bundle. */
const builtPathOf = (folder: string, entry: string): string => join(folder, dirname(entry), "plugin.json");

/**
 * Bundles the plugin in `folder` and starts the bundle in the sandbox to read its declaration. Writes the part of the manifest
 * that follows from the declaration into package.json, and the whole manifest with the digest and the schemas into
 * `dist/plugin.json`. `config`: the plugin's own settings for this start. Throws a `PackageError`.
 */
export async function build(folder: string, config: Readonly<Record<string, unknown>> = {}): Promise<PluginBuild> {
  const file = readPackage(folder);
  const code = await bundle(folder, file.source);
  const entry = join(folder, file.manifest.entry);
  makeFolder(dirname(entry));
  writeFileSync(entry, code);
  const declaration = await describe(entry, file.manifest, config);
  const derivedMembers = derive(file, declaration);
  const changedMembers = writeDerived(file, derivedMembers);
  const manifest = {
    ...manifestOf(file.path, { ...(file.json.signalbox as object), ...derivedMembers }),
    version: file.version,
    contract: declaration.contract,
    bundle: { sha256: sha256Of(code), bytes: code.byteLength },
    config: declaration.config,
    contributes: declaration.contributes,
  };
  const built = parseBuilt("dist/plugin.json", manifest);
  writeFileSync(builtPathOf(folder, file.manifest.entry), `${JSON.stringify(built, null, 2)}\n`);
  return { manifest: built, bundle: entry, changedMembers };
}

const notInSetup =
  "setup must not use secret, fetch or operations, because it also runs before anything is configured. Call them where the result is needed: in run, deliver or check.";

async function describe(
  path: string,
  { id, limits }: PackageFile["manifest"],
  config: Readonly<Record<string, unknown>>,
): Promise<BundleDeclaration> {
  try {
    const serve = () => Promise.reject(new PluginError("failed", notInSetup));
    const sandbox = await openSandbox({ bundle: path, name: id, memoryMb: limits.memory_mb, config, serve });
    await sandbox.close();
    const { plugin, contract, missing } = sandbox.declaration;
    // Errors because of which every host of this version would refuse the plugin.
    admitDeclared({ ...plugin, contract }, new Set());
    if (missing.length > 0)
      throw new Refusal("BAD_CONTRIBUTION", `${id}: setup must return a function for ${missing.join(", ")}.`);
    return sandbox.declaration;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const way =
      error.code === "BAD_CONFIG" ? '. Give its members default values, or set them in "config" of test/conformance.ts.' : "";
    throw new PackageError("NOT_SET_UP", `${error.code}: ${error.message}${way}`, error);
  }
}

/** The part of the manifest that follows from the declaration. */
function derive(file: PackageFile, { plugin, contributes }: BundleDeclaration) {
  if (plugin.id !== file.manifest.id)
    throw new PackageError("MISMATCH", `The ids differ: "${plugin.id}" in definePlugin, "${file.manifest.id}" in package.json.`);
  if (plugin.version !== file.version)
    throw new PackageError(
      "MISMATCH",
      `The versions differ: ${plugin.version} in definePlugin, ${file.version} in package.json.`,
    );
  const declared = file.manifest.permissions.http.map(({ host }) => host);
  const missing = plugin.hosts.find((host) => !declared.includes(host));
  if (missing)
    throw new PackageError(
      "UNDECLARED_HOST",
      `definePlugin names the host ${missing}. Add it to "signalbox.permissions.http" in package.json, with its methods and the reason.`,
    );
  const open = file.manifest.permissions.open_routes?.map(({ name }) => name) ?? [];
  const undeclaredRoute = Object.entries(contributes.routes).find(
    ([name, { scope }]) => scope === "open" && !open.includes(name),
  );
  if (undeclaredRoute)
    throw new PackageError(
      "UNDECLARED_ROUTE",
      `The route ${undeclaredRoute[0]} needs no API key. Add it to "signalbox.permissions.open_routes" in package.json, with the reason.`,
    );
  const kinds = Object.entries(contributes).flatMap(([kind, all]) => (Object.keys(all).length > 0 ? [kind] : []));
  if (kinds.length === 0)
    throw new PackageError("NOTHING_CONTRIBUTED", `setup must return at least one of ${Object.keys(contributes).join(", ")}.`);
  return { about: plugin.about, kinds, sdk: plugin.sdk, needs: [...plugin.needs] };
}

/** The result of the previous build, checked against its bundle and package.json. Throws a `PackageError`. */
export function readBuilt(folder: string): PluginBuild {
  const file = readPackage(folder);
  const path = builtPathOf(folder, file.manifest.entry);
  const entry = join(folder, file.manifest.entry);
  let code: Uint8Array;
  let json: unknown;
  try {
    code = readFileSync(entry);
    json = readJson(path);
  } catch {
    throw new PackageError("NOT_BUILT", `${path} or the bundle next to it does not exist: run \`signalbox plugin build\`.`);
  }
  const manifest = parseBuilt(path, json);
  if (manifest.bundle.sha256 !== sha256Of(code))
    throw new PackageError(
      "NOT_BUILT",
      `${path} belongs to another bundle than ${file.manifest.entry}: run \`signalbox plugin build\`.`,
    );
  if (manifest.version !== file.version)
    throw new PackageError(
      "NOT_BUILT",
      `${path} has version ${manifest.version}, package.json has ${file.version}: run \`signalbox plugin build\`.`,
    );
  return { manifest, bundle: entry, changedMembers: [] };
}

/** Throws a `PackageError` that names the member. */
export function parseBuilt(path: string, value: unknown): BuiltManifest {
  const parsed = builtManifest.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PackageError("BAD_MANIFEST", `${path}: ${manifestText(parsed.error)}`);
}
