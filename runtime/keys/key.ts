import { createHash, randomBytes } from "node:crypto";

/** A new key: 256 random bits, with a prefix by which people and secret scanners know it. */
export const newKey = (): string => `sbx_${randomBytes(32).toString("base64url")}`;

/** How much of a key may be shown to tell it from others. */
export const hintOf = (key: string): string => `${key.slice(0, 8)}…`;

/**
 * What is stored and looked up. A plain SHA-256: slow hashes protect what people make up and others can guess, and nobody
 * guesses 256 random bits; a slow one would only make every request slow. Comparing digests by lookup tells a caller
 * nothing about a key either, since nobody can steer a digest.
 */
export const hashOf = (key: string): Buffer => createHash("sha256").update(key).digest();
