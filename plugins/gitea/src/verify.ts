import { firstHeader, isValidHmacSha256, type VerificationResult, type WebhookRequest } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

/** Forgejo sends the same signature under its own name too. */
export function verify({ headers, body }: WebhookRequest, { webhook_secret }: Settings): VerificationResult {
  if (!webhook_secret) return { ok: false, reason: "missing setting webhook_secret: without it webhooks cannot be verified" };
  const sent = firstHeader(headers, "x-gitea-signature", "x-forgejo-signature");
  if (sent === null) return { ok: false, reason: "missing header X-Gitea-Signature" };
  return isValidHmacSha256(sent, body, webhook_secret)
    ? { ok: true }
    : { ok: false, reason: "header X-Gitea-Signature does not match the body" };
}
