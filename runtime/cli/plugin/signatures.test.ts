import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type PackageRegistry, startRegistry } from "../../../test/harness/package-registry.ts";
import { keysOf, signatureOf } from "./signatures.ts";

const [name, version] = ["signalbox-plugin-signed", "1.0.0"];
const bytes = Buffer.from("a tarball");
const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
const [own, other] = [0, 1].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
type Pair = typeof own;
const published = (pair: Pair, keyid: string, expires: string | null = null) => ({
  keyid,
  expires,
  key: pair?.publicKey.export({ format: "der", type: "spki" }).toString("base64"),
});
const signed = (pair: Pair, text: string, keyid = "k1") => ({
  keyid,
  sig: sign("sha256", Buffer.from(text), pair?.privateKey as never).toString("base64"),
});

let registry: PackageRegistry;
let keys: readonly unknown[] | null = null;
let signatures: readonly unknown[] | undefined;
let publishedAt: string | undefined;
let cache: string;
beforeAll(async () => {
  const one = { name, version, read: () => bytes, signatures: () => signatures, publishedAt: () => publishedAt };
  registry = await startRegistry(one, { keys: () => keys });
  cache = mkdtempSync(join(tmpdir(), "signalbox-signatures-"));
  vi.stubEnv("npm_config_registry", `${registry.url}/`);
  vi.stubEnv("npm_config_cache", cache);
  vi.stubEnv("npm_config_prefer_online", "true");
});
afterAll(() => {
  vi.unstubAllEnvs();
  registry?.close();
  rmSync(cache, { recursive: true, force: true });
});

const spec = `${name}@${version}`;
const good = signed(own, `${spec}:${integrity}`);
const expired = "2020-01-01T00:00:00.000Z";
const refused = /^signalbox-plugin-signed@1\.0\.0: /;

test.each<[string, readonly unknown[] | null, readonly unknown[] | undefined, string | RegExp, string?]>([
  ["by the registry's key", [published(own, "k1")], [good], "signature: the registry's key verifies this tarball"],
  ["no keys", null, [good], "signature: not verified (the registry publishes no keys)"],
  ["no signature", [published(own, "k1")], undefined, "signature: not verified (the registry returned no signature)"],
  [
    "an unknown key",
    [published(own, "k2")],
    [good],
    "signature: not verified (the registry does not publish the key that signed it)",
  ],
  ["another key of that name", [published(other, "k1")], [good], refused],
  ["another tarball", [published(own, "k1")], [signed(own, `${spec}:sha512-AAAA`)], refused],
  ["another version", [published(own, "k1")], [signed(own, `${name}@1.0.1:${integrity}`)], refused],
  [
    "one good, one forged",
    [published(own, "k1"), published(own, "k2")],
    [good, signed(other, `${spec}:${integrity}`, "k2")],
    refused,
  ],
  ["a signature that is not base64", [published(own, "k1")], [{ keyid: "k1", sig: "%%%" }], refused],
  ["an invalid key", [{ keyid: "k1", key: "AAAA" }], [good], refused],
  ["an expired key", [published(own, "k1", expired)], [good], /signed with a key that had expired/],
  [
    "a key that expired before the version",
    [published(own, "k1", expired)],
    [good],
    /signed with a key that had expired/,
    "2020-01-02T00:00:00.000Z",
  ],
  [
    "a key that expired after the version",
    [published(own, "k1", expired)],
    [good],
    "signature: the registry's key verifies this tarball",
    "2019-12-31T00:00:00.000Z",
  ],
])("a signature: %s", { timeout: 60_000 }, async (_, published, given, expected, time) => {
  keys = published;
  signatures = given;
  publishedAt = time;
  const answer = signatureOf(name, version, integrity, await keysOf(`${registry.url}/`));
  if (typeof expected === "string") expect(await answer).toBe(expected);
  else await expect(answer).rejects.toMatchObject({ code: "INTEGRITY", message: expect.stringMatching(expected) });
});

test("a signature: the registry's answer holds no keys", async () => {
  keys = [{ keyid: "k1" }];
  expect(await signatureOf(name, version, integrity, await keysOf(registry.url))).toBe(
    "signature: not verified (the registry's keys could not be read)",
  );
});
