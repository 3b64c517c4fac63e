import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { VerificationResult, WebhookRequest } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

const header = "x-hub-signature-256";

/** HMAC-SHA256 of the raw bytes, compared in constant time. Without a secret every webhook is accepted. */
export function verify(request: WebhookRequest, connection: Settings): VerificationResult {
  if (!connection.webhook_secret) return { ok: true };
  const sent = Object.hasOwn(request.headers, header) ? request.headers[header] : undefined;
  if (!sent) return { ok: false, reason: "missing header X-Hub-Signature-256: this webhook has a secret, so it must be signed" };
  const digits = /^sha256=([0-9a-f]{64})$/i.exec(sent.trim())?.[1];
  if (!digits) return { ok: false, reason: 'header X-Hub-Signature-256 must be "sha256=" and 64 hexadecimal digits' };
  const expected = createHmac("sha256", connection.webhook_secret).update(request.body).digest();
  return timingSafeEqual(Buffer.from(digits, "hex"), expected)
    ? { ok: true }
    : { ok: false, reason: "header X-Hub-Signature-256 does not match the body: the secret differs, or the body was changed" };
}
