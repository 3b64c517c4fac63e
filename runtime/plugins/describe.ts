import type { Output } from "@signalbox/schema/operation";
import type { get } from "@signalbox/schema/plugins";
import { type BuiltManifest, permissionDiff } from "@signalbox/sdk/manifest";
import { breakingChanges } from "./breaking-changes.ts";
import type { LoadedThirdParty } from "./load-third-party.ts";
import type { PluginManager } from "./plugin-manager.ts";
import type { PluginRow, VersionRow } from "./queries.ts";
import { restrictPermissions } from "./restrict-permissions.ts";
import { accountSettings, requiredSettings, settingNames } from "./setting-names.ts";

export type PluginEntity = Output<typeof get>;

/** An installed plugin in the format of the API. `set`: names of the settings that have a value. */
export function describeInstalled(
  row: PluginRow,
  versions: readonly VersionRow[],
  manager: PluginManager,
  set: ReadonlySet<string>,
): PluginEntity {
  const currentVersion = versions.find((one) => one.version === row.version);
  const newestVersion = versions.at(-1);
  const shownVersion = (currentVersion ?? newestVersion) as VersionRow;
  const waitingVersion =
    newestVersion && newestVersion.approved_at === null && newestVersion !== currentVersion ? newestVersion : null;
  const runningPlugin = manager.runningPlugin(row.id);
  const enforcedManifest = restrictPermissions(shownVersion.manifest, row.denied);
  return {
    ...describe(enforcedManifest, runningPlugin, set),
    denied: permissionDiff(enforcedManifest, shownVersion.manifest),
    ...stateOf(row, currentVersion, runningPlugin, manager),
    origin: "installed",
    version: row.version,
    sha256: currentVersion?.sha256 ?? null,
    waiting: waitingVersion && {
      version: waitingVersion.version,
      widens: [
        ...publisherDiff(currentVersion, waitingVersion),
        ...permissionDiff(currentVersion?.manifest ?? null, waitingVersion.manifest),
      ],
      breaks: breakingChanges(currentVersion?.manifest, waitingVersion.manifest),
    },
    versions: versions.map(({ manifest, plugin_id: _, ...one }, i) => ({
      ...one,
      breaks: breakingChanges(versions[i - 1]?.manifest, manifest),
    })),
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** Another publisher may be another author, so an approval is valid for one publisher only. */
const publisherDiff = (before: VersionRow | undefined, after: VersionRow): string[] =>
  before && before.publisher !== after.publisher
    ? [`publisher: ${after.publisher ?? "unknown"}, before ${before.publisher ?? "unknown"}`]
    : [];

/** A plugin that the environment names, and so approves. */
export function describeFromEnvironment(runningPlugin: LoadedThirdParty, set: ReadonlySet<string>): PluginEntity {
  const { manifest, sha256, process } = runningPlugin;
  const status = process?.status();
  return {
    ...describe(manifest, runningPlugin, set),
    denied: [],
    state: status?.state ?? "ready",
    code: status?.code ?? null,
    reason: status?.reason ?? null,
    origin: "environment",
    version: manifest.version,
    sha256,
    waiting: null,
    versions: [],
    created_at: null,
    updated_at: null,
  };
}

function describe(manifest: BuiltManifest, runningPlugin: LoadedThirdParty | undefined, set: ReadonlySet<string>) {
  const { id, title = null, about = null, kinds, contributes, needs, secrets } = manifest;
  const { http, operations, open_routes = [] } = manifest.permissions;
  const permissions = { http: http.filter(({ methods }) => methods.length > 0), operations, open_routes };
  const requiredNames = requiredSettings(manifest);
  const plainNames = [...settingNames(manifest)].filter((name) => !Object.hasOwn(secrets, name));
  const ofAccount = accountSettings(manifest);
  const ofSource = new Set(Object.values(contributes.sources).flatMap((source) => source.secrets));
  const status = runningPlugin?.process?.status();
  return {
    id,
    title,
    about,
    kinds,
    permissions,
    needs,
    tools: Object.keys(contributes.tools).map((name) => `${id}.${name}`),
    sources: Object.keys(contributes.sources),
    routes: Object.entries(contributes.routes).map(([name, { about, method, scope }]) => ({
      path: `/plugins/${id}/${name}`,
      method,
      scope,
      about,
    })),
    tier: runningPlugin && !runningPlugin.process ? ("in_process" as const) : ("sandbox" as const),
    crashes: status?.crashes ?? 0,
    memory_bytes: status?.memory ?? null,
    settings: [
      ...Object.entries(secrets).map(([name, one]) => ({
        name,
        title: one.title,
        secret: true,
        injected: one.inject !== undefined,
        set: set.has(name),
        required: requiredNames.has(name) || !(one.optional || ofSource.has(name)),
        of_account: ofAccount.has(name),
      })),
      ...plainNames.map((name) => ({
        name,
        title: null,
        secret: ofSource.has(name),
        injected: false,
        set: set.has(name),
        required: requiredNames.has(name),
        of_account: ofAccount.has(name),
      })),
    ],
  };
}

/** It is running, but not as its operator wants: an upgrade failed, or another plugin has some of its names. */
function clashOf(id: string, manager: PluginManager): Pick<PluginEntity, "code" | "reason"> {
  const failed = manager.failedUpgrade(id);
  if (failed) return { code: failed.code, reason: failed.reason };
  const skippedNames = manager.skippedContributions(id);
  if (skippedNames.length === 0) return { code: null, reason: null };
  return { code: "NAME_TAKEN", reason: `Disabled, because another plugin uses these names: ${skippedNames.join(", ")}` };
}

function stateOf(
  row: PluginRow,
  currentVersion: VersionRow | undefined,
  runningPlugin: LoadedThirdParty | undefined,
  manager: PluginManager,
): Pick<PluginEntity, "state" | "code" | "reason"> {
  if (!currentVersion) return { state: "installed", code: null, reason: null };
  if (row.quarantine_code !== null) return { state: "quarantined", code: row.quarantine_code, reason: row.quarantine_reason };
  if (!row.enabled) return { state: "approved", code: null, reason: null };
  const status = runningPlugin?.process?.status();
  if (status)
    return {
      state: status.state,
      ...(status.code === null ? clashOf(row.id, manager) : { code: status.code, reason: status.reason }),
    };
  const refusal = manager.refused.get(row.id);
  if (refusal) return { state: "stopped", code: refusal.code, reason: refusal.reason };
  return { state: runningPlugin ? "ready" : "enabled", code: null, reason: null };
}
