import { Buffer } from "node:buffer";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Compares two secrets in constant time, without revealing their lengths. */
export const equalSecrets = (sent: string, secret: string): boolean => timingSafeEqual(digest(sent), digest(secret));

/** Whether `hex` is the HMAC-SHA256 of `body`, in hexadecimal. Compares in constant time. */
export function isValidHmacSha256(hex: string, body: Uint8Array, secret: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false;
  return timingSafeEqual(Buffer.from(hex, "hex"), createHmac("sha256", secret).update(body).digest());
}

/** The trimmed value of the first of these headers that is present and not blank; `null` if there is none. Names are lower-case. */
export function firstHeader(headers: Readonly<Record<string, string>>, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (typeof value === "string" && value.trim() !== "") return value.trim();
  }
  return null;
}
