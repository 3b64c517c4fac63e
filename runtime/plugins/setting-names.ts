import type { BuiltManifest } from "@signalbox/sdk/manifest";

/** The settings that a plugin may receive: its own, those of its sources' accounts, and its credentials. */
export function settingNames({ config, contributes, secrets }: BuiltManifest): ReadonlySet<string> {
  return new Set([...Object.keys(secrets), ...membersOf(config), ...connectionMembers({ contributes })]);
}

/** The settings that an integration can contain instead of the plugin, because only accounts of its sources need them. */
export function accountSettings(manifest: BuiltManifest): ReadonlySet<string> {
  const own = settingsToStart(manifest);
  return new Set(connectionMembers(manifest).filter((name) => !own.includes(name)));
}

const connectionMembers = ({ contributes }: Pick<BuiltManifest, "contributes">): string[] =>
  Object.values(contributes.sources).flatMap(({ connection }) => membersOf(connection));

const membersOf = ({ properties }: BuiltManifest["config"]): string[] =>
  typeof properties === "object" && properties !== null ? Object.keys(properties) : [];

/** The settings without which the plugin does not start. */
export function settingsToStart({ config }: Pick<BuiltManifest, "config">): string[] {
  const { required = [], properties } = config as { required?: readonly string[]; properties?: Record<string, object> };
  return required.filter((name) => !("default" in (properties?.[name] ?? {})));
}

/** The settings without which the plugin does not start, and those that an account of its sources needs. */
export const requiredSettings = (manifest: BuiltManifest): ReadonlySet<string> =>
  new Set([...settingsToStart(manifest), ...Object.values(manifest.contributes.sources).flatMap((source) => source.required)]);
