import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { webhookAuthOutput } from "@signalbox/schema/webhook-mappings";
import type { VerificationResult, WebhookRequest } from "@signalbox/sdk";
import type { z } from "zod";
import { parseNetworks } from "./network/networks.ts";

type Auth = z.input<typeof webhookAuthOutput>;
/** A received webhook; `address` is the sender's, `null` if unknown. */
export interface SentRequest extends WebhookRequest {
  readonly address: () => string | null;
}
export type AuthCheck = (request: SentRequest) => VerificationResult;

const refuse = (reason: string): VerificationResult => ({ ok: false, reason });
const acceptance: VerificationResult = { ok: true };

/** The check of a mapping's `auth`. `secret` is `null` for methods without one. All comparisons take constant time. */
export function authCheck(auth: Auth, secret: string | null): AuthCheck {
  switch (auth.method) {
    case "none":
      return () => acceptance;
    case "hmac_sha256":
      return hmacCheck(auth.header, auth.prefix ?? "", secret ?? "");
    case "token":
      return tokenCheck(auth.header, secret ?? "");
    case "ip_allowlist": {
      const networks = parseNetworks(auth.cidrs);
      return ({ address }) => {
        const from = address();
        if (from === null) return refuse("the address of the sender is not known");
        return networks.has(from) ? acceptance : refuse(`the address ${from} is not in the allowlist`);
      };
    }
  }
}

const headerOf = (request: WebhookRequest, name: string): string | undefined => {
  const key = name.toLowerCase();
  return Object.hasOwn(request.headers, key) ? request.headers[key] : undefined;
};

function tokenCheck(header: string, secret: string): AuthCheck {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(secret);
  return (request) => {
    const value = headerOf(request, header);
    if (value === undefined) return refuse(`missing header ${header}`);
    return timingSafeEqual(digest(value), expected) ? acceptance : refuse(`header ${header} does not contain the secret`);
  };
}

function hmacCheck(header: string, prefix: string, secret: string): AuthCheck {
  return (request) => {
    const value = headerOf(request, header)?.trim();
    if (value === undefined) return refuse(`missing header ${header}`);
    if (!value.toLowerCase().startsWith(prefix.toLowerCase())) return refuse(`header ${header} must begin with "${prefix}"`);
    const bytes = signatureOf(value.slice(prefix.length).trim());
    if (!bytes) return refuse(`header ${header} must contain an HMAC-SHA256 as 64 hexadecimal digits or base64`);
    const expected = createHmac("sha256", secret).update(request.body).digest();
    return timingSafeEqual(bytes, expected)
      ? acceptance
      : refuse(`header ${header} does not match the body: the secret differs, or the body was changed`);
  };
}

function signatureOf(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text.replaceAll("-", "+").replaceAll("_", "/"), "base64") : null;
}
