import { Buffer } from "node:buffer";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Compares a shared secret in constant time; lengths do not show either. */
export const equalSecrets = (sent: string, secret: string): boolean => timingSafeEqual(digest(sent), digest(secret));

/** Whether `hex` is the HMAC-SHA256 of the raw bytes, in constant time. */
export function isValidHmacSha256(hex: string, body: Uint8Array, secret: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false;
  return timingSafeEqual(Buffer.from(hex, "hex"), createHmac("sha256", secret).update(body).digest());
}

/** The first of the headers that was sent and is not blank, without spaces around it; `null` where none was. Names are lower-case. */
export function firstHeader(headers: Readonly<Record<string, string>>, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (typeof value === "string" && value.trim() !== "") return value.trim();
  }
  return null;
}
