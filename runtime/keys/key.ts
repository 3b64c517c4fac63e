import { createHash, randomBytes } from "node:crypto";

/** A new key: 256 random bits, with a prefix by which people and secret scanners know it. */
export const newKey = (): string => `sbx_${randomBytes(32).toString("base64url")}`;

/** How much of a key may be shown to tell it from others. */
export const hintOf = (key: string): string => `${key.slice(0, 8)}…`;

/**
 * What is stored and looked up. A plain SHA-256: a slow hash protects secrets that can be guessed, which 256 random bits
 * cannot; it would only slow down every request. A lookup by digest reveals nothing about a key by its timing, because a
 * caller cannot choose the digest.
 */
export const hashOf = (key: string): Buffer => createHash("sha256").update(key).digest();
