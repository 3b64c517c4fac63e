import { headerOf, isHmacSha256, type Verdict, type WebhookRequest } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

/** HMAC-SHA256 over the raw bytes, which the platform sends for webhooks with a secret. Without one every webhook is let in. */
export function verify(request: WebhookRequest, connection: Settings): Verdict {
  if (!connection.webhook_secret) return { ok: true };
  const sent = headerOf(request.headers, "x-hub-signature");
  if (sent === null) return { ok: false, reason: "header X-Hub-Signature is missing, and this webhook has a secret" };
  const digits = /^sha256=([0-9a-f]{64})$/i.exec(sent)?.[1];
  if (!digits) return { ok: false, reason: 'header X-Hub-Signature must be "sha256=" and 64 hexadecimal digits' };
  return isHmacSha256(digits, request.body, connection.webhook_secret)
    ? { ok: true }
    : { ok: false, reason: "header X-Hub-Signature does not match the body: another secret, or the body was changed" };
}
