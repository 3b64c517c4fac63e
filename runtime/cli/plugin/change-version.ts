import { gzipSync } from "node:zlib";
import * as plugins from "@signalbox/schema/plugins";
import semver from "semver";
import { UsageError } from "../arguments.ts";
import { type FetchedPackage, fetchPackage } from "./fetch-package.ts";
import { checkLocked, lockFile, readLock, saveLocked } from "./lock.ts";
import { breakingChangesText, permissionsText, singleLine } from "./messages.ts";
import { type OperatorCommand, type OperatorContext, type PluginEntity, requireId } from "./operator-context.ts";
import { PackageError } from "./package-error.ts";

export const install: OperatorCommand = async ({ positionals, flags }, context) => {
  const sources = positionals.length > 0 ? positionals : Object.values(readLock().plugins).map(({ source }) => source);
  if (sources.length === 0) throw new UsageError(`${context.usage}; without an argument, it installs what ${lockFile} lists.`);
  for (const source of sources) await installFetched(await fetchPackage(source), flags.has("approve"), context);
  return 0;
};

export const approve: OperatorCommand = async ({ positionals: [name, version, ...more] }, context) => {
  if (name === undefined || more.length > 0) throw new UsageError(context.usage);
  const before = await context.call<PluginEntity>(plugins.get, { id: name });
  context.out(permissionsText(before) + breakingChangesText(before, version ?? before.versions.at(-1)?.version ?? ""));
  return approveVersion(name, version, context);
};

export const upgrade: OperatorCommand = async (given, context) => {
  const nameOrSource = requireId(given, context.usage);
  const source = await newest(nameOrSource, context);
  const fetched = await fetchPackage(source);
  // Checked first, because an upgrade of a plugin that is not installed would install it.
  const { version: serving } = await context.call<PluginEntity>(plugins.get, { id: fetched.manifest.id });
  mustNotBeOlder(fetched.manifest, serving);
  await installFetched(fetched, false, context);
  return 0;
};

export const rollback: OperatorCommand = async (given, context) => {
  const name = requireId(given, context.usage);
  const { version, versions } = await context.call<PluginEntity>(plugins.get, { id: name });
  const active = versions.findIndex((one) => one.version === version);
  const older = versions.slice(0, Math.max(0, active));
  const previousVersion = older
    .filter(({ approved_at, rolled_back_at }) => approved_at !== null && rolled_back_at === null)
    .at(-1);
  if (version === null)
    throw new PackageError("NO_PACKAGE", `No version of ${name} is approved, so there is nothing to roll back.`);
  if (!previousVersion)
    throw new PackageError(
      "NO_PACKAGE",
      `${name} has no approved version before ${version}. Installed: ${versions.map((one) => one.version).join(", ")}.`,
    );
  return approveVersion(name, previousVersion.version, context);
};

async function installFetched(fetchedPackage: FetchedPackage, isApproving: boolean, context: OperatorContext): Promise<void> {
  const { manifest, bundle, origin, integrity, publisher, signature, provenance } = fetchedPackage;
  checkLocked(fetchedPackage);
  const input = {
    manifest,
    bundle: gzipSync(bundle, { level: 9 }).toString("base64"),
    origin,
    publisher,
    ...(integrity !== null && { integrity }),
  };
  const plugin = await context.call<PluginEntity>(plugins.install, input);
  saveLocked(fetchedPackage);
  const facts = [`sha256 ${manifest.bundle.sha256}`, integrity, signature, provenance].filter((fact) => fact != null);
  context.out(`${manifest.id} ${manifest.version} from ${origin}\n${facts.map((fact) => `  ${singleLine(fact)}\n`).join("")}`);
  context.out(breakingChangesText(plugin, manifest.version));
  if (plugin.version !== manifest.version && plugin.waiting?.version !== manifest.version) {
    if (isApproving) return void (await approveVersion(manifest.id, manifest.version, context));
    context.out(
      `Already installed; ${plugin.version ?? "no version"} is active. To activate this version: signalbox plugin approve ${manifest.id} ${manifest.version}\n`,
    );
    return;
  }
  if (plugin.waiting === null) {
    context.out(`It requests no new permissions; it is ${plugin.state}.\n`);
    return;
  }
  context.out(permissionsText(plugin));
  if (isApproving) await approveVersion(manifest.id, manifest.version, context);
  else context.out(`None of its code has run yet. To approve it: signalbox plugin approve ${manifest.id}\n`);
}

async function approveVersion(name: string, version: string | undefined, { call, out }: OperatorContext): Promise<number> {
  const approved = await call<PluginEntity>(plugins.approve, { id: name, ...(version !== undefined && { version }) });
  out(`${approved.id} ${approved.version} is approved and ${approved.state}.\n`);
  return 0;
}

function mustNotBeOlder({ id, version }: Pick<FetchedPackage["manifest"], "id" | "version">, serving: string | null): void {
  if (serving === null || !semver.lt(version, serving)) return;
  throw new PackageError(
    "OLDER",
    `${id} ${version} is older than the active version ${serving}. To return to the previous version: signalbox plugin rollback ${id}. To install any version: signalbox plugin install.`,
  );
}

/** The id of an installed plugin means the newest version of the package that it was installed from. */
async function newest(nameOrSource: string, { call }: OperatorContext): Promise<string> {
  const all = await call<PluginEntity[]>(plugins.list, { limit: 1000 });
  const installed = all.find((one) => one.id === nameOrSource);
  if (!installed) return nameOrSource;
  const origin = installed.versions.at(-1)?.origin ?? "";
  if (/.@[^@/]+$/.test(origin)) return `${origin.slice(0, origin.lastIndexOf("@"))}@latest`;
  // A package with that name may have another author.
  throw new PackageError(
    "NO_PACKAGE",
    `${nameOrSource} came from ${origin || "the environment"}, not from a registry. Name the tarball, folder or package of the newer version.`,
  );
}
