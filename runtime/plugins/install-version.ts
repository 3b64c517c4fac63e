import { isDeepStrictEqual } from "node:util";
import { gunzipSync } from "node:zlib";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import { type BuiltManifest, builtManifest, maxBundleBytes, permissionDiff } from "@signalbox/sdk/manifest";
import type { Sql } from "../platform/database/client.ts";
import { admitDeclared, throwRefusalAs } from "./admit.ts";
import { checkBundle, readManifest } from "./plugin-files.ts";
import type { PluginManager } from "./plugin-manager.ts";
import { findPlugin, findVersions, forgetDevVersions, insertVersion, useVersion } from "./queries.ts";
import { restrictPermissions } from "./restrict-permissions.ts";

interface NewVersion {
  readonly manifest: Record<string, unknown>;
  readonly bundle: string;
  readonly origin?: string | undefined;
  readonly integrity?: string | undefined;
  readonly publisher?: string | undefined;
}

/**
 * Stores a version. If it requests no more permissions than the running version and has the same publisher, it is started on
 * trial and then replaces that version; otherwise it waits for approval. Throws a `Problem` if it is invalid, does not start, or
 * differs from an installed version with the same number; then nothing changes.
 */
export async function installVersion(
  input: NewVersion,
  sql: Sql,
  manager: Pick<PluginManager, "isTaken" | "trial">,
): Promise<BuiltManifest> {
  const { manifest, bytes } = await readVersion(input).catch(
    throwRefusalAs(({ code, message }) => problem("bad_request", `${code}: ${message}`, { field: "manifest" })),
  );
  const { id, version } = manifest;
  if (manager.isTaken(id))
    throw problem("already_exists", `The id "${id}" belongs to a plugin that is built in or named in SIGNALBOX_PLUGINS.`);
  const row = {
    sha256: manifest.bundle.sha256,
    manifest: JSON.stringify(manifest),
    bundle: bytes,
    origin: input.origin ?? null,
    integrity: input.integrity ?? null,
    publisher: input.publisher ?? publisherIn(input.origin),
  };
  const versionsBefore = await findVersions(sql, id);
  const plugin = await findPlugin(sql, id);
  const servingVersion = versionsBefore.find((one) => one.version === plugin?.version);
  const inherits =
    servingVersion !== undefined &&
    servingVersion.publisher === row.publisher &&
    permissionDiff(servingVersion.manifest, manifest).length === 0;
  const isNew = !versionsBefore.some((one) => one.version === version);
  // A plugin that is disabled or quarantined has no running version that could be lost.
  if (inherits && isNew && plugin?.enabled && plugin.quarantine_code === null) {
    const what = `${id} ${version} does not start, so ${servingVersion.version} keeps serving and nothing was stored`;
    await manager
      .trial({ name: id, bytes, manifest: restrictPermissions(manifest, plugin.denied) })
      .catch(throwRefusalAs(({ code, message }) => problem("wrong_state", `${what}: ${code}: ${message}`)));
  }
  const stored = await insertVersion(sql, manifest, row);
  const versions = await findVersions(sql, id);
  const sameVersion = versions.find((one) => one.version === version);
  if (!stored && sameVersion?.sha256 !== row.sha256)
    throw problem(
      "already_exists",
      `${id} ${version} is already installed with different bytes (SHA-256 ${sameVersion?.sha256}); give the changed plugin a new version.`,
    );
  if (!stored && sameVersion) refuseOtherManifest(sameVersion.manifest, manifest);
  if (stored && inherits) await useVersion(sql, id, version);
  await forgetDevVersions(sql, id, version);
  return manifest;
}

/** Reads the manifest and the bundle. Throws a `Refusal` if they do not fit together or to this host. */
async function readVersion({ manifest, bundle }: NewVersion): Promise<{ manifest: BuiltManifest; bytes: Uint8Array }> {
  const read = readManifest(JSON.stringify(manifest));
  const bytes = unpackBundle(bundle);
  checkBundle(read, bytes);
  admitDeclared(read, new Set());
  return { manifest: read, bytes };
}

/** The package in an origin such as `@acme/clock@1.2.0`; `null` if the origin is not a package. */
const publisherIn = (origin: string | undefined): string | null =>
  /^((?:@[^/@\s]+\/)?[^/@\s]+)@[^/\s]+$/.exec(origin ?? "")?.[1] ?? null;

/** The same bytes with another manifest are another version, because the manifest contains the permissions. */
function refuseOtherManifest(before: BuiltManifest, after: BuiltManifest): void {
  // The manifest as this host reads it, if it can: it may know members that the host which stored the version did not.
  const had = builtManifest.safeParse(before).data ?? before;
  const changedMembers = Object.keys({ ...had, ...after })
    .filter((key) => !isDeepStrictEqual(had[key as keyof BuiltManifest], after[key as keyof BuiltManifest]))
    .sort();
  if (changedMembers.length > 0)
    throw problem(
      "already_exists",
      `${after.id} ${after.version} is already installed with a different manifest (${changedMembers.join(", ")}); give the changed plugin a new version.`,
    );
}

function unpackBundle(bundle: string): Uint8Array {
  try {
    return new Uint8Array(gunzipSync(Buffer.from(bundle, "base64"), { maxOutputLength: maxBundleBytes }));
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE")
      throw problem("too_large", `bundle: must have at most ${maxBundleBytes} bytes`, { field: "bundle" });
    throw fieldProblem("bundle", "must be compressed by gzip");
  }
}
