import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { BuiltManifest } from "@signalbox/sdk/manifest";
import type { Sql } from "../platform/database/client.ts";
import { issueText } from "../platform/issue-text.ts";
import type { Vault } from "../platform/vault.ts";
import { throwRefusalAs } from "./admit.ts";
import { isServing } from "./installed-plugin.ts";
import type { PluginManager } from "./plugin-manager.ts";
import { findBundle, findPlugin, saveSettings, type VersionRow } from "./queries.ts";
import { restrictPermissions } from "./restrict-permissions.ts";
import { connectionSchema } from "./sandbox/connection-schema.ts";
import { settingNames, settingsToStart } from "./setting-names.ts";
import { settingsPurpose, storedSettings, throwAsConflict } from "./stored-settings.ts";

interface ConfigureDeps {
  readonly manager: Pick<PluginManager, "runningPlugin" | "trial">;
  readonly vault: Vault;
  /** A plugin's settings from the environment. */
  readonly environment: (id: string) => Readonly<Record<string, string>>;
}
type Changes = Readonly<Record<string, string | null>>;
type Settings = Readonly<Record<string, string>>;

/**
 * Stores settings of an installed plugin, encrypted. If its version does not start with them, they are refused and the old ones
 * remain. Throws a `Problem` that names the setting, never its value.
 */
export async function configure(
  id: string,
  changes: Changes,
  versions: readonly VersionRow[],
  sql: Sql,
  deps: ConfigureDeps,
): Promise<void> {
  refuseUnknown(id, changes, versions);
  deps.vault.requireKey();
  const row = await findPlugin(sql, id);
  const before = await storedSettings(row, deps.vault).catch(throwAsConflict);
  const after = Object.fromEntries(
    Object.entries({ ...before, ...changes }).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  const version = versions.find((one) => one.version === row?.version) ?? versions.at(-1);
  const isComplete = version ? checkTypes(version.manifest, changes, { ...deps.environment(id), ...after }) : false;
  const process = deps.manager.runningPlugin(id)?.process ?? null;
  const serves = process !== null && isServing(process);
  // Settings may be entered one by one while the plugin is not running because some are missing.
  if (version && row?.enabled && row.version === version.version && (isComplete || serves)) {
    const bytes = await findBundle(sql, id, version.version);
    const manifest = restrictPermissions(version.manifest, row.denied);
    if (bytes)
      await deps.manager
        .trial({ name: id, bytes: new Uint8Array(bytes), manifest }, after)
        .catch(throwRefusalAs(({ code, message }) => fieldProblem("settings", refusedText(code, message))));
  }
  const sealed = Object.keys(after).length === 0 ? null : await deps.vault.seal(after, settingsPurpose(id));
  const isSaved = await saveSettings(sql, { id, settings: row?.settings ?? null }, sealed);
  // Its version may have started for seconds on trial.
  if (!isSaved) throw problem("changed_meanwhile", `Another request changed the settings of ${id} meanwhile. Send yours again.`);
}

const refusedText = (code: string, message: string): string =>
  `the plugin does not start with them (${code}: ${message}). The old settings still apply.`;

/** Throws a `Problem` if the plugin cannot start with these settings, because some are missing. */
export function requireSettings(manifest: BuiltManifest, settings: Settings): void {
  const missing = settingsToStart(manifest).filter((name) => !Object.hasOwn(settings, name));
  if (missing.length === 0) return;
  const settingsText = missing.map((name) => `"${name}": "..."`).join(", ");
  const how = `PUT /api/plugins/${manifest.id}/settings, or signalbox plugin configure ${manifest.id} --settings '{${settingsText}}'`;
  throw problem(
    "wrong_state",
    `${manifest.id} does not start without the settings ${missing.join(", ")}. Set them, then approve it: ${how}`,
  );
}

function refuseUnknown(id: string, changes: Changes, versions: readonly VersionRow[]): void {
  const names = new Set(versions.flatMap(({ manifest }) => [...settingNames(manifest)]));
  const unknown = Object.keys(changes).find((name) => !names.has(name));
  if (unknown === undefined) return;
  const known = [...names].join(", ") || "none";
  throw problem("bad_request", `settings.${unknown}: ${id} has no such setting; its settings are: ${known}`, {
    field: `settings.${unknown}`,
  });
}

/**
 * Validates the changed settings with the schemas of the manifest. Returns whether every required setting of the plugin has a
 * value.
 */
function checkTypes({ config, contributes }: BuiltManifest, changes: Changes, settings: Settings): boolean {
  const schemas = [config, ...Object.values(contributes.sources).map(({ connection }) => connection)];
  for (const schema of schemas) {
    const issues = connectionSchema(schema).safeParse(settings).error?.issues ?? [];
    const wrong = issues.find(({ path: [name] }) => typeof changes[String(name)] === "string");
    if (!wrong) continue;
    const field = ["settings", ...wrong.path.map(String)].join(".");
    throw fieldProblem(field, issueText(wrong));
  }
  return connectionSchema(config).safeParse(settings).success;
}
