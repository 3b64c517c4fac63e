import type { BuiltManifest } from "@signalbox/sdk/manifest";

/** What a plugin may be given: its own settings, those of its sources' accounts, and its credentials. */
export function settingNames({ config, contributes, secrets }: BuiltManifest): ReadonlySet<string> {
  const schemas = [config, ...Object.values(contributes.sources).map((source) => source.connection)];
  const members = schemas.flatMap(({ properties }) =>
    typeof properties === "object" && properties !== null ? Object.keys(properties) : [],
  );
  return new Set([...Object.keys(secrets), ...members]);
}
