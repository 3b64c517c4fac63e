import { isDeepStrictEqual } from "node:util";
import { gunzipSync } from "node:zlib";
import { problem } from "@signalbox/schema/problem";
import { type BuiltManifest, builtManifest, permissionDiff } from "@signalbox/sdk/manifest";
import type { Sql } from "../platform/database/client.ts";
import { admitDeclared, Refusal } from "./admit.ts";
import type { Fleet } from "./plugin-manager.ts";
import { findPlugin, findVersions, forgetDevVersions, insertVersion, useVersion } from "./queries.ts";
import { checkBundle, readManifest } from "./third-party.ts";

const maxBundle = 16 * 1024 * 1024;

/**
 * Stores a version. It serves at once where it may do no more than the one that the operator approved. Throws a `Problem`
 * where it is not valid, or is not the one that is installed under its number.
 */
export async function installVersion(
  input: { manifest: Record<string, unknown>; bundle: string; origin?: string | undefined; integrity?: string | undefined },
  sql: Sql,
  fleet: Pick<Fleet, "isTaken">,
): Promise<BuiltManifest> {
  const { manifest, bytes } = await asBadRequest(async () => {
    const read = readManifest(JSON.stringify(input.manifest));
    const bundle = unpacked(input.bundle);
    checkBundle(read, bundle);
    admitDeclared(read, new Set());
    return { manifest: read, bytes: bundle };
  });
  const { id, version } = manifest;
  if (fleet.isTaken(id))
    throw problem(
      "conflict",
      `The id "${id}" is that of a plugin which comes with the service or which SIGNALBOX_PLUGINS names.`,
    );
  const row = { sha256: manifest.bundle.sha256, manifest: JSON.stringify(manifest), bundle: bytes };
  const stored = await insertVersion(sql, manifest, { ...row, origin: input.origin ?? null, integrity: input.integrity ?? null });
  const versions = await findVersions(sql, id);
  const same = versions.find((one) => one.version === version);
  if (!stored && same?.sha256 !== row.sha256)
    throw problem(
      "conflict",
      `${id} ${version} is installed already, with other bytes (SHA-256 ${same?.sha256}); a changed plugin needs a new version.`,
    );
  if (!stored && same) refuseOtherManifest(same.manifest, manifest);
  const current = (await findPlugin(sql, id))?.version;
  const serving = versions.find((one) => one.version === current);
  // What may do no more than the one that the operator approved needs no new approval.
  if (stored && serving && permissionDiff(serving.manifest, manifest).length === 0) await useVersion(sql, id, version);
  await forgetDevVersions(sql, id, version);
  return manifest;
}

/** Bytes alone do not make a version: what it may do stands in the manifest. */
function refuseOtherManifest(before: BuiltManifest, after: BuiltManifest): void {
  // As this host reads it, where it does: it may know members that the one which stored it did not.
  const had = builtManifest.safeParse(before).data ?? before;
  const other = Object.keys({ ...had, ...after })
    .filter((key) => !isDeepStrictEqual(had[key as keyof BuiltManifest], after[key as keyof BuiltManifest]))
    .sort();
  if (other.length > 0)
    throw problem(
      "conflict",
      `${after.id} ${after.version} is installed already, with another manifest (${other.join(", ")}); a changed plugin needs a new version.`,
    );
}

function unpacked(bundle: string): Uint8Array {
  try {
    return new Uint8Array(gunzipSync(Buffer.from(bundle, "base64"), { maxOutputLength: maxBundle }));
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE")
      throw problem("too_large", `bundle: has more than ${maxBundle} bytes`, { field: "bundle" });
    throw problem("bad_request", "bundle: must be compressed by gzip", { field: "bundle" });
  }
}

async function asBadRequest<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Refusal) throw problem("bad_request", `${error.code}: ${error.message}`, { field: "manifest" });
    throw error;
  }
}
