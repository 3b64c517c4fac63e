import { pathToFileURL } from "node:url";
import type { Plugin } from "@signalbox/sdk";
import { type BuiltManifest, declaredContributions } from "@signalbox/sdk/manifest";
import { admit, admitDeclared, Refusal } from "./admit.ts";
import { cachedBundle, sha256Of } from "./bundle-cache.ts";
import { manifestOf } from "./identify.ts";
import { checkContributions, type Loaded, type LoadOptions, setUp } from "./load.ts";
import { openSandbox } from "./sandbox/open.ts";
import type { ProcessStatus, Supervised } from "./sandbox/supervise.ts";
import { type ForeignGround, sandboxed } from "./sandboxed.ts";
import type { Foreign } from "./third-party.ts";

/** A plugin of others that was taken in. */
export interface Running {
  readonly manifest: BuiltManifest;
  readonly sha256: string;
  /** Its process; `null`: it was trusted, and runs in this one. */
  readonly process: Supervised | null;
  readonly loaded: Loaded;
}
export interface TakeInOptions {
  readonly ground: ForeignGround;
  /** `id@version#sha256` of what the operator lets run in this process: `SIGNALBOX_TRUSTED_PLUGINS`. */
  readonly trusted: readonly string[];
  readonly inProcess: Omit<LoadOptions, "builtIns">;
  readonly changed: (manifest: BuiltManifest, status: ProcessStatus) => void;
}

/** Takes a plugin in, without starting its process. Throws a `Refusal`. `taken`: ids of other plugins. */
export async function takeIn(
  { name, bytes, manifest }: Foreign,
  taken: ReadonlySet<string>,
  options: TakeInOptions,
): Promise<Running> {
  const sha256 = sha256Of(bytes);
  const trust = options.trusted.find((one) => one.endsWith(`#${sha256}`));
  if (trust) return trusted(trust, { bytes, sha256, manifest }, taken, options);
  if (manifest) admitDeclared(manifest, taken);
  const known = manifest ?? (await identify(name, bytes, taken, options.ground));
  const made = sandboxed(known, bytes, options.ground, (status) => options.changed(known, status));
  checkContributions(known.id, made.contributions);
  const schemas = Object.fromEntries(
    Object.entries(known.contributes.tools).map(([tool, { input }]) => [tool, input as Record<string, unknown>]),
  );
  const loaded = { plugin: known, contributions: made.contributions, builtIn: false, schemas };
  return { manifest: known, sha256, process: made.process, loaded };
}

/** Runs what was not built once, to hear what it is. */
async function identify(
  name: string,
  bytes: Uint8Array,
  taken: ReadonlySet<string>,
  ground: ForeignGround,
): Promise<BuiltManifest> {
  const sandbox = await openSandbox({
    ...{ bundle: cachedBundle(bytes).file, name, deno: ground.deno },
    config: (id) => (taken.has(id) ? {} : ground.settingsOf(id)),
  });
  try {
    const found = manifestOf(sandbox.described, bytes);
    admitDeclared(found, taken);
    return found;
  } finally {
    await sandbox.close();
  }
}

interface Trusted {
  readonly bytes: Uint8Array;
  readonly sha256: string;
  readonly manifest: BuiltManifest | null;
}

/** In this process, with all that this process may do: the operator named this very file. */
async function trusted(
  trust: string,
  { bytes, sha256, manifest }: Trusted,
  taken: ReadonlySet<string>,
  options: TakeInOptions,
): Promise<Running> {
  const { file } = cachedBundle(bytes);
  const url = pathToFileURL(file).href;
  const module = (await import(url)) as { default?: unknown };
  const plugin: Plugin = admit(module.default, taken);
  const said = `${plugin.id}@${plugin.version}`;
  if (trust !== `${said}#${sha256}`)
    throw new Refusal(
      "MODIFIED",
      `SIGNALBOX_TRUSTED_PLUGINS: expected ${trust.split("#")[0]}; the file with this SHA-256 is ${said}.`,
    );
  const contributions = await setUp(plugin, { ...options.inProcess, module: url });
  const described = { id: plugin.id, version: plugin.version, sdk: plugin.sdk, needs: plugin.needs, hosts: plugin.hosts ?? [] };
  const known =
    manifest ??
    manifestOf(
      {
        plugin: described,
        protocol: 1,
        contract: 1,
        stamped_sdk: "",
        config: { type: "object" },
        contributes: declaredContributions.parse({}),
      },
      bytes,
    );
  return { manifest: known, sha256, process: null, loaded: { plugin, contributions, builtIn: false } };
}
