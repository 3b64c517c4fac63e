import { createHash } from "node:crypto";
import { problem } from "@signalbox/schema/problem";
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from "jose";

/** Encrypts stored values that must not be readable in the database. */
export interface Vault {
  /** Throws the problem `unavailable` if `ENCRYPTION_KEY` is not set. */
  requireKey(): void;
  /** Encrypts a JSON value as a JWE. `purpose` names its row; `open` needs the same name. */
  seal(value: unknown, purpose: string): Promise<string>;
  /** Decrypts a value. Throws an Error with the reason, which never contains the value or a key. */
  open(sealed: string, purpose: string): Promise<unknown>;
  /** Whether a value is encrypted with the current key. */
  isCurrent(sealed: string): boolean;
}

/** JWE in compact form: `dir`, A256GCM. The first key encrypts, each decrypts; `kid` is the beginning of a key's digest. */
export function createVault(keys: readonly string[]): Vault {
  const ring = new Map(keys.map(bytesOf).map((bytes) => [kidOf(bytes), bytes] as const));
  const currentKey = ring.entries().next().value;
  const requireKey = () => {
    if (currentKey) return currentKey;
    throw problem(
      "unavailable",
      "ENCRYPTION_KEY is not set, so no credential can be stored. Set it to 32 random bytes: openssl rand -hex 32",
    );
  };
  return {
    requireKey: () => void requireKey(),
    seal: (value, purpose) => {
      const [kid, key] = requireKey();
      return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(value)))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid, purpose })
        .encrypt(key);
    },
    open: async (sealed, purpose) => {
      const header = headerOf(sealed);
      if (ring.size === 0) throw new Error("ENCRYPTION_KEY is not set");
      const key = ring.get(String(header.kid));
      if (!key) throw new Error(`it was encrypted with a key that is not in ENCRYPTION_KEY (its id is ${header.kid})`);
      if (header.purpose !== purpose) throw new Error(`it belongs to ${header.purpose}, not to ${purpose}`);
      const { plaintext } = await compactDecrypt(sealed, key, {
        keyManagementAlgorithms: ["dir"],
        contentEncryptionAlgorithms: ["A256GCM"],
      });
      return JSON.parse(new TextDecoder().decode(plaintext));
    },
    isCurrent: (sealed) => headerOf(sealed).kid === currentKey?.[0],
  };
}

function headerOf(sealed: string): { kid?: unknown; purpose?: unknown } {
  try {
    return decodeProtectedHeader(sealed);
  } catch {
    throw new Error("it is not a JWE");
  }
}

const bytesOf = (key: string): Uint8Array =>
  new Uint8Array(Buffer.from(key, /^[0-9a-f]{64}$/i.test(key) ? "hex" : /[-_]/.test(key) ? "base64url" : "base64"));
const kidOf = (key: Uint8Array): string => createHash("sha256").update("signalbox kid").update(key).digest("hex").slice(0, 8);
