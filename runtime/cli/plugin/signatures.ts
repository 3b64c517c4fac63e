import { createPublicKey, verify } from "node:crypto";
import { z } from "zod";
import { jsonOr } from "../../platform/json.ts";
import { npm } from "./npm.ts";
import { PackageError } from "./package-error.ts";

const signatures = z.array(z.object({ keyid: z.string(), sig: z.string() }));
const publishedPackage = z.object({
  keys: z.array(z.object({ keyid: z.string(), key: z.string(), expires: z.string().nullish() })),
});
type RegistryKey = z.output<typeof publishedPackage>["keys"][number];
/** `null`: they could not be read. */
export type RegistryKeys = readonly RegistryKey[] | null;
const timeoutMs = 30_000;

/** The keys with which a registry signs its packages; an empty list if it publishes none. */
export const keysOf = (registry: string): Promise<RegistryKeys> =>
  fetch(`${registry.replace(/\/*$/, "/")}-/npm/v1/keys`, { signal: AbortSignal.timeout(timeoutMs) })
    .then(async (response) => {
      if (response.ok) return publishedPackage.parse(await response.json()).keys;
      return response.status === 404 ? [] : null;
    })
    .catch(() => null);

/** Why signatures cannot be verified with these keys; `null` if they can. */
export function whyUnverifiable(keys: RegistryKeys): string | null {
  if (keys === null) return "the registry's keys could not be read";
  return keys.length === 0 ? "the registry publishes no keys" : null;
}

/**
 * One line about the registry's signature on a tarball. It is verified with the registry's keys, for the bytes that were fetched.
 * Throws a `PackageError` if it is not valid.
 */
export async function signatureOf(name: string, version: string, integrity: string, keys: RegistryKeys): Promise<string> {
  const reason = whyUnverifiable(keys);
  if (keys === null || reason !== null) return `signature: not verified (${reason})`;
  const spec = `${name}@${version}`;
  const registrySignatures = signatures.safeParse(await view(spec, "dist.signatures"));
  if (!registrySignatures.success || registrySignatures.data.length === 0)
    return "signature: not verified (the registry returned no signature)";
  const known = registrySignatures.data.flatMap(({ keyid, sig }) =>
    keys.filter((key) => key.keyid === keyid).map((key) => ({ key, sig })),
  );
  if (known.length === 0) return "signature: not verified (the registry does not publish the key that signed it)";
  for (const { key, sig } of known) {
    if (!isSigned(`${spec}:${integrity}`, key, sig))
      throw new PackageError("INTEGRITY", `${spec}: the registry's signature does not match this tarball.`);
    if (await isTooOld(key, name, version))
      throw new PackageError("INTEGRITY", `${spec}: it was signed with a key that had expired when the version was published.`);
  }
  return "signature: the registry's key verifies this tarball";
}

/** A member of a package's data in the registry; `null` if it does not exist: npm then prints nothing. */
const view = async (spec: string, member: string): Promise<unknown> =>
  jsonOr(await npm(["view", spec, member, "--json"], spec), null);

function isSigned(text: string, { key }: RegistryKey, sig: string): boolean {
  try {
    const publicKey = createPublicKey({ key: Buffer.from(key, "base64"), format: "der", type: "spki" });
    return verify("sha256", Buffer.from(text), publicKey, Buffer.from(sig, "base64"));
  } catch {
    return false;
  }
}

/** A registry replaces its keys. The previous key remains valid for the packages that it signed. */
async function isTooOld({ expires }: RegistryKey, name: string, version: string): Promise<boolean> {
  if (!expires || Date.parse(expires) > Date.now()) return false;
  const times = z.record(z.string(), z.string()).safeParse(await view(name, "time"));
  const time = Date.parse(times.data?.[version] ?? "");
  return !(time < Date.parse(expires));
}
