import { createHash, randomBytes } from "node:crypto";

/** A new key: 256 random bits, with a prefix by which people and secret scanners recognise it. */
export const newKey = (): string => `sbx_${randomBytes(32).toString("base64url")}`;

/** How much of a key may be shown to distinguish it from others. */
export const keyHint = (key: string): string => `${key.slice(0, 8)}…`;

/**
 * The digest that is stored and looked up. Plain SHA-256 is sufficient: a slow hash protects secrets that can be guessed, but 256
 * random bits cannot be, and it would slow down every request. The timing of a lookup by digest reveals nothing about a key,
 * because a caller cannot choose the digest.
 */
export const hashOf = (key: string): Buffer => createHash("sha256").update(key).digest();
