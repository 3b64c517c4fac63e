import { equalSecrets, firstHeader, isValidHmacSha256, type VerificationResult, type WebhookRequest } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

/**
 * Two checks: the API key in X-API-Key, and the HMAC-SHA256 of the raw bytes. Each configured check whose header is present
 * must pass, and at least one header must be present. With neither configured every webhook is accepted.
 */
export function verify({ headers, body }: WebhookRequest, { api_key, webhook_secret }: Settings): VerificationResult {
  if (!api_key && !webhook_secret) return { ok: true };
  const key = api_key ? firstHeader(headers, "x-api-key") : null;
  const signature = webhook_secret ? firstHeader(headers, "x-delta-signature", "x-plane-signature") : null;
  if (key === null && signature === null) {
    const wanted = [...(api_key ? ["X-API-Key"] : []), ...(webhook_secret ? ["X-Delta-Signature"] : [])].join(" or ");
    return { ok: false, reason: `missing header ${wanted}: this source is configured to verify webhooks` };
  }
  if (key !== null && !equalSecrets(key, api_key ?? ""))
    return { ok: false, reason: "header X-API-Key does not match the configured key" };
  if (signature !== null && !isValidHmacSha256(signature.replace(/^sha256=/i, ""), body, webhook_secret ?? ""))
    return { ok: false, reason: "header X-Delta-Signature does not match the body: the secret differs, or the body was changed" };
  return { ok: true };
}
