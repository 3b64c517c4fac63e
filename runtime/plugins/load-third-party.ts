import { pathToFileURL } from "node:url";
import type { Contributions, Plugin } from "@signalbox/sdk";
import { type BuiltManifest, builtManifest, declaredContributions, httpMethods } from "@signalbox/sdk/manifest";
import { sha256Of } from "../platform/digest.ts";
import { admit, admitDeclared, Refusal } from "./admit.ts";
import { cachedBundle } from "./bundle-cache.ts";
import { checkContributions, type LoadedPlugin, type LoadOptions, setUp } from "./load.ts";
import { manifestText } from "./manifest-text.ts";
import { plainContributions } from "./plain-contributions.ts";
import type { PluginFiles } from "./plugin-files.ts";
import { runSandboxed, type SandboxDependencies } from "./run-sandboxed.ts";
import { withSignature } from "./sandbox/contributions.ts";
import type { BundleDeclaration } from "./sandbox/initialize.ts";
import { openSandbox } from "./sandbox/open.ts";
import type { ProcessStatus, SupervisedProcess } from "./sandbox/supervise.ts";

/** A loaded third-party plugin. Its process may not be started yet. */
export interface LoadedThirdParty extends LoadedPlugin {
  readonly manifest: BuiltManifest;
  readonly sha256: string;
  /** Its process; `null` if it is trusted and runs in this process. */
  readonly process: SupervisedProcess | null;
}
export interface LoadThirdPartyOptions {
  readonly dependencies: SandboxDependencies;
  /** `id@version#sha256` of the plugins that run in this process: `SIGNALBOX_TRUSTED_PLUGINS`. */
  readonly trustedPlugins: readonly string[];
  readonly inProcess: Omit<LoadOptions, "builtIns">;
  readonly onStatus: (manifest: BuiltManifest, status: ProcessStatus) => void;
}

/** Loads a plugin without starting its process. Throws a `Refusal`. `takenIds`: ids of other plugins. */
export async function loadThirdParty(
  files: PluginFiles,
  takenIds: ReadonlySet<string>,
  options: LoadThirdPartyOptions,
): Promise<LoadedThirdParty> {
  const { name, bytes, manifest } = files;
  const sha256 = sha256Of(bytes);
  const trust = options.trustedPlugins.find((one) => one.endsWith(`#${sha256}`));
  if (trust) return loadTrusted(trust, sha256, files, takenIds, options);
  if (manifest) admitDeclared(manifest, takenIds);
  const knownManifest = manifest ?? (await identify(name, bytes, takenIds, options.dependencies).catch(failWithDigest(sha256)));
  const { process, contributions } = runSandboxed(knownManifest, bytes, options.dependencies, (status) =>
    options.onStatus(knownManifest, status),
  );
  checkContributions(knownManifest.id, contributions);
  const schemas = Object.fromEntries(
    Object.entries(knownManifest.contributes.tools).map(([tool, { input }]) => [tool, input as Record<string, unknown>]),
  );
  return { plugin: knownManifest, contributions, builtIn: false, schemas, manifest: knownManifest, sha256, process };
}

/** An operator who trusts a module that was not built learns its digest here. */
const failWithDigest = (sha256: string) => (error: unknown) => {
  if (!(error instanceof Refusal)) throw error;
  throw new Refusal(error.code, `${error.message} The SHA-256 of its bundle is ${sha256}.`, error);
};

/** Runs an unbuilt module once to read its declaration. */
async function identify(
  name: string,
  bytes: Uint8Array,
  takenIds: ReadonlySet<string>,
  dependencies: SandboxDependencies,
): Promise<BuiltManifest> {
  const sandbox = await openSandbox({
    bundle: cachedBundle(bytes).file,
    name,
    deno: dependencies.deno,
    config: (id) => (takenIds.has(id) ? {} : dependencies.settingsOf(id)),
  });
  try {
    const found = manifestOf(sandbox.declaration, bytes);
    admitDeclared(found, takenIds);
    return found;
  } finally {
    await sandbox.close();
  }
}

/** Also in this process, the host checks a declared signature in addition to `verify`. */
const checkingSignatures = ({ sources = {}, ...others }: Contributions): Contributions => ({
  ...others,
  sources: Object.fromEntries(
    Object.entries(sources).map(([name, source]) => [
      name,
      { ...source, verify: withSignature(source.signature, source.verify) },
    ]),
  ),
});

/** In this process, with all its permissions, because the operator named exactly this file. */
async function loadTrusted(
  trust: string,
  sha256: string,
  { bytes, manifest }: PluginFiles,
  takenIds: ReadonlySet<string>,
  options: LoadThirdPartyOptions,
): Promise<LoadedThirdParty> {
  const { file } = cachedBundle(bytes);
  const url = pathToFileURL(file).href;
  const module = (await import(url)) as { default?: unknown };
  const plugin: Plugin = admit(module.default, takenIds);
  const nameAndVersion = `${plugin.id}@${plugin.version}`;
  if (trust !== `${nameAndVersion}#${sha256}`)
    throw new Refusal(
      "MODIFIED",
      `SIGNALBOX_TRUSTED_PLUGINS: the file with this SHA-256 must be ${trust.split("#")[0]}; it is ${nameAndVersion}.`,
    );
  const contributions = checkingSignatures(plainContributions(await setUp(plugin, { ...options.inProcess, module: url })));
  const declaration = { id: plugin.id, version: plugin.version, sdk: plugin.sdk, needs: plugin.needs, hosts: plugin.hosts ?? [] };
  const knownManifest =
    manifest ??
    manifestOf(
      { plugin: declaration, contract: 1, config: { type: "object" }, contributes: declaredContributions.parse({}) },
      bytes,
    );
  return { plugin, contributions, builtIn: false, manifest: knownManifest, sha256, process: null };
}

/**
 * The manifest of a plugin that was not built, derived from its declaration: its hosts with every method, and its open routes. It
 * names no secrets, so the plugin can read all of its settings. Used for modules that the operator names by path.
 */
function manifestOf(
  { plugin, contract, config, contributes }: Pick<BundleDeclaration, "plugin" | "contract" | "config" | "contributes">,
  bytes: Uint8Array,
): BuiltManifest {
  const { id, version, sdk, about, needs, hosts } = plugin;
  // Checked first, because a plugin with another contract may declare members that this host cannot read.
  admitDeclared({ id, version, sdk, needs, contract }, new Set());
  const usedKinds = Object.entries(contributes).flatMap(([kind, all]) => (Object.keys(all).length > 0 ? [kind] : []));
  const why = "its declaration names it";
  const parsed = builtManifest.safeParse({
    manifest: 1,
    id,
    version,
    sdk,
    needs,
    contract,
    config,
    contributes,
    ...(about && { about }),
    kinds: usedKinds.length > 0 ? usedKinds : ["tools"],
    bundle: { sha256: sha256Of(bytes), bytes: bytes.byteLength },
    permissions: {
      http: needs.includes("fetch") ? hosts.map((host) => ({ host, methods: [...httpMethods], why })) : [],
      open_routes: Object.entries(contributes.routes).flatMap(([name, { scope }]) => (scope === "open" ? [{ name, why }] : [])),
    },
  });
  if (parsed.success) return parsed.data;
  throw new Refusal("BAD_MANIFEST", `${id}: ${manifestText(parsed.error)}`);
}
