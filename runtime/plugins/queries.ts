import type { BuiltManifest } from "@signalbox/sdk/manifest";
import type { Queryable } from "../platform/database/client.ts";
import type { DeniedPermissions } from "./restrict-permissions.ts";

export interface PluginRow {
  readonly id: string;
  readonly version: string | null;
  readonly enabled: boolean;
  readonly settings: string | null;
  readonly denied: DeniedPermissions | null;
  readonly quarantine_code: string | null;
  readonly quarantine_reason: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}
export interface VersionRow {
  readonly plugin_id: string;
  readonly version: string;
  readonly sha256: string;
  readonly manifest: BuiltManifest;
  readonly origin: string | null;
  readonly integrity: string | null;
  /** Package name and registry. An approval is valid for one publisher. */
  readonly publisher: string | null;
  /** When an operator rolled back from it to an older version. */
  readonly rolled_back_at: string | null;
  readonly approved_at: string | null;
  readonly installed_at: string;
}

export const allPlugins = (sql: Queryable): Promise<PluginRow[]> => sql<PluginRow[]>`select * from plugins order by id`;

/** Without the bundles, oldest first. */
export const allVersions = (sql: Queryable): Promise<VersionRow[]> =>
  sql<VersionRow[]>`
    select plugin_id, version, sha256, manifest, origin, integrity, publisher, rolled_back_at, approved_at, installed_at
    from plugin_versions order by plugin_id, installed_at, version`;

export async function findPlugin(sql: Queryable, id: string): Promise<PluginRow | undefined> {
  const [row] = await sql<PluginRow[]>`select * from plugins where id = ${id}`;
  return row;
}

export const findVersions = (sql: Queryable, id: string): Promise<VersionRow[]> =>
  sql<VersionRow[]>`
    select plugin_id, version, sha256, manifest, origin, integrity, publisher, rolled_back_at, approved_at, installed_at
    from plugin_versions where plugin_id = ${id} order by installed_at, version`;

export async function findBundle(sql: Queryable, id: string, version: string): Promise<Uint8Array | undefined> {
  const [row] = await sql<{ bundle: Uint8Array }[]>`
    select bundle from plugin_versions where plugin_id = ${id} and version = ${version}`;
  return row?.bundle;
}

/** `false` if this version already exists, with these bytes or others. */
export async function insertVersion(
  sql: Queryable,
  { id, version }: Pick<BuiltManifest, "id" | "version">,
  row: { sha256: string; manifest: string; bundle: Uint8Array } & Pick<VersionRow, "origin" | "integrity" | "publisher">,
): Promise<boolean> {
  const result = await sql`
    with plugin as (insert into plugins (id) values (${id}) on conflict (id) do update set updated_at = now() returning id)
    insert into plugin_versions (plugin_id, version, sha256, manifest, bundle, origin, integrity, publisher)
    select id, ${version}, ${row.sha256}, ${row.manifest}::text::json, ${row.bundle}, ${row.origin}, ${row.integrity}, ${row.publisher} from plugin
    on conflict do nothing`;
  return result.count > 0;
}

/** Approves a version, makes it the current one, and ends a quarantine. `leaves`: the version from which a rollback returns. */
export async function useVersion(sql: Queryable, id: string, version: string, leaves: string | null = null): Promise<void> {
  await sql`
    with approved as (
      update plugin_versions set approved_at = case when version = ${version} then coalesce(approved_at, now()) else approved_at end,
        rolled_back_at = case when version = ${version} then null else now() end
      where plugin_id = ${id} and (version = ${version} or version = ${leaves}::text)
    )
    update plugins set version = ${version}, quarantine_code = null, quarantine_reason = null, updated_at = now()
    where id = ${id}`;
}

/** Deletes all development versions (`0.1.0-dev.1767225600000`, one for each save) except the current one and `newest`. */
export async function forgetDevVersions(sql: Queryable, id: string, newest: string): Promise<void> {
  await sql`
    delete from plugin_versions v using plugins p
    where v.plugin_id = ${id} and p.id = v.plugin_id and v.version ~ '[-.]dev\\.[0-9]+$'
      and v.version <> ${newest} and v.version is distinct from p.version`;
}

export async function setEnabled(sql: Queryable, id: string, enabled: boolean): Promise<void> {
  await sql`
    update plugins set enabled = ${enabled}, quarantine_code = null, quarantine_reason = null, updated_at = now()
    where id = ${id}`;
}

export async function setQuarantine(sql: Queryable, id: string, version: string, code: string, reason: string): Promise<void> {
  await sql`
    update plugins set quarantine_code = ${code}, quarantine_reason = ${reason}, updated_at = now()
    where id = ${id} and version = ${version} and quarantine_code is null`;
}

/**
 * Replaces the settings `before`, and ends a quarantine that other settings may have caused. `false` if the settings have changed
 * meanwhile.
 */
export async function saveSettings(
  sql: Queryable,
  { id, settings: before }: Pick<PluginRow, "id" | "settings">,
  settings: string | null,
): Promise<boolean> {
  const causes = ["BAD_CONFIG", "SETUP_FAILED", "SETUP_TIMEOUT"];
  const result = await sql`
    update plugins set settings = ${settings}, updated_at = now(),
      quarantine_reason = case when quarantine_code = any(${causes}) then null else quarantine_reason end,
      quarantine_code = case when quarantine_code = any(${causes}) then null else quarantine_code end
    where id = ${id} and settings is not distinct from ${before}`;
  return result.count > 0;
}

/** Executions that wait for an account of these sources try it at once: other settings may have corrected the credential. */
export const retryConnections = (sql: Queryable, sources: readonly string[]): Promise<unknown> =>
  sql`
    update breakers set next_probe_at = now()
    where key like 'connection %' and split_part(key, ' ', 2) = any(${sources as string[]}) and next_probe_at > now()`;

export async function saveDenied(sql: Queryable, id: string, denied: DeniedPermissions): Promise<void> {
  await sql`update plugins set denied = ${JSON.stringify(denied)}::text::json, updated_at = now() where id = ${id}`;
}

export async function deletePlugin(sql: Queryable, id: string): Promise<boolean> {
  return (await sql`delete from plugins where id = ${id}`).count > 0;
}
