import { firstHeader, isValidHmacSha256, type VerificationResult, type WebhookRequest } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

/** HMAC-SHA256 of the raw bytes, compared in constant time. Without a secret every webhook is accepted. */
export function verify(request: WebhookRequest, connection: Settings): VerificationResult {
  if (!connection.webhook_secret) return { ok: true };
  const sent = firstHeader(request.headers, "x-hub-signature-256");
  if (sent === null)
    return { ok: false, reason: "missing header X-Hub-Signature-256: this webhook has a secret, so it must be signed" };
  const digits = /^sha256=([0-9a-f]{64})$/i.exec(sent)?.[1];
  if (!digits) return { ok: false, reason: 'header X-Hub-Signature-256 must be "sha256=" and 64 hexadecimal digits' };
  return isValidHmacSha256(digits, request.body, connection.webhook_secret)
    ? { ok: true }
    : { ok: false, reason: "header X-Hub-Signature-256 does not match the body: the secret differs, or the body was changed" };
}
