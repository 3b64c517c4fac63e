import type { BuiltManifest } from "@signalbox/sdk/manifest";

/** The settings that a plugin may receive: its own, those of its sources' accounts, and its credentials. */
export function settingNames({ config, contributes, secrets }: BuiltManifest): ReadonlySet<string> {
  const schemas = [config, ...Object.values(contributes.sources).map((source) => source.connection)];
  const members = schemas.flatMap(({ properties }) =>
    typeof properties === "object" && properties !== null ? Object.keys(properties) : [],
  );
  return new Set([...Object.keys(secrets), ...members]);
}

/** The settings without which the plugin does not start. */
export function settingsToStart({ config }: Pick<BuiltManifest, "config">): string[] {
  const { required = [], properties } = config as { required?: readonly string[]; properties?: Record<string, object> };
  return required.filter((name) => !("default" in (properties?.[name] ?? {})));
}

/** The settings without which the plugin does not start, and those that an account of its sources needs. */
export const requiredSettings = (manifest: BuiltManifest): ReadonlySet<string> =>
  new Set([...settingsToStart(manifest), ...Object.values(manifest.contributes.sources).flatMap((source) => source.required)]);
