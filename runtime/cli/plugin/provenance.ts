import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { npm } from "./npm.ts";
import { PackageError } from "./package-error.ts";
import { type RegistryKeys, whyUnverifiable } from "./signatures.ts";

/** A registry's information about the build of a package: a statement that the builder signed (SLSA provenance, version 1). */
const statement = z.object({
  subject: z.array(z.object({ digest: z.object({ sha512: z.string() }) })),
  predicate: z.object({
    buildDefinition: z.object({
      externalParameters: z.object({ workflow: z.object({ repository: z.string(), path: z.string(), ref: z.string() }) }),
      resolvedDependencies: z.array(z.object({ digest: z.object({ gitCommit: z.string() }) })).optional(),
    }),
  }),
});
const answer = z.object({
  attestations: z.array(
    z.object({ predicateType: z.string(), bundle: z.object({ dsseEnvelope: z.object({ payload: z.string() }) }) }),
  ),
});
const timeoutMs = 30_000;

/**
 * One line about where a package of a registry was built. Throws a `PackageError` if the registry's statement is about another
 * tarball, or if npm finds an invalid signature. `integrity`: the integrity of the fetched tarball.
 */
export async function provenanceOf(name: string, version: string, integrity: string, keys: RegistryKeys): Promise<string> {
  const spec = `${name}@${version}`;
  const url = await npm(["view", spec, "dist.attestations.url"], spec);
  if (!URL.canParse(url.trim())) return "provenance: none; the registry has no attestation of the build";
  const statement = await readStatement(url.trim()).catch(() => null);
  if (statement === null) return "provenance: the registry's attestation of the build could not be read";
  const sha512 = Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
  if (!statement.subject.some(({ digest }) => digest.sha512 === sha512))
    throw new PackageError("INTEGRITY", `${spec}: the provenance in the registry belongs to another tarball.`);
  const { externalParameters, resolvedDependencies = [] } = statement.predicate.buildDefinition;
  const { repository, path, ref } = externalParameters.workflow;
  const commit = resolvedDependencies[0]?.digest.gitCommit;
  const from = `built from ${repository} (${ref}${commit ? `, commit ${commit}` : ""}) by workflow ${path}`;
  // If the registry has no keys, npm would look for them elsewhere, and then fail.
  const unverified = whyUnverifiable(keys) ?? (await verify(name, version, integrity));
  return unverified === null
    ? `provenance: ${from}; npm verified the signatures`
    : `provenance: not verified (${unverified}); the attestation says: ${from}`;
}

async function readStatement(url: string): Promise<z.output<typeof statement> | null> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  const { attestations } = answer.parse(await response.json());
  const found = attestations.find(({ predicateType }) => predicateType === "https://slsa.dev/provenance/v1");
  return found ? statement.parse(JSON.parse(Buffer.from(found.bundle.dsseEnvelope.payload, "base64").toString("utf8"))) : null;
}

const packageLock = z.object({ packages: z.record(z.string(), z.object({ integrity: z.string().optional() })) });
const audit = z.object({ invalid: z.array(z.unknown()), missing: z.array(z.unknown()) });

/**
 * npm compares the signatures with the keys that it trusts. It does so only for installed packages, so the package is installed
 * into a temporary folder, without scripts. Returns why the signatures could not be verified; `null` if they are valid.
 */
async function verify(name: string, version: string, integrity: string): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-provenance-"));
  const spec = `${name}@${version}`;
  // If npm cannot reach the keys, it waits for them only once.
  const fetchOnce = ["--fetch-retries=0", "--fetch-timeout=10000"];
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: { [name]: version } }));
    // The registry of the package and its credential may be configured in the working folder only.
    if (existsSync(".npmrc")) cpSync(".npmrc", join(folder, ".npmrc"));
    const omitFlags = ["dev", "optional", "peer"].map((one) => `--omit=${one}`);
    await npm(["install", "--ignore-scripts", "--no-audit", "--no-fund", ...omitFlags], spec, folder);
    // A registry could return another, signed tarball this time.
    const lock = packageLock.parse(JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")));
    if (lock.packages[`node_modules/${name}`]?.integrity !== integrity)
      throw new PackageError("INTEGRITY", `${spec}: the registry returned another tarball when npm verified its signatures.`);
    const { invalid, missing } = audit.parse(
      JSON.parse(await npm(["audit", "signatures", "--json", ...omitFlags, ...fetchOnce], spec, folder)),
    );
    if (invalid.length > 0) throw new PackageError("INTEGRITY", `${spec}: npm found an invalid signature.`);
    return missing.length > 0 ? "the registry returned no signature" : null;
  } catch (error) {
    if (error instanceof PackageError && error.code === "INTEGRITY") throw error;
    return error instanceof PackageError ? error.message : "npm's output could not be read";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
