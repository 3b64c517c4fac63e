import { headerOf, isHmacSha256, isSameSecret, type Verdict, type WebhookRequest } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

/**
 * Two checks: the API key in X-API-Key, and the HMAC-SHA256 over the raw bytes. Of those configured each whose header is
 * there must be good, and at least one must be there. With nothing configured every webhook is let in.
 */
export function verify({ headers, body }: WebhookRequest, { api_key, webhook_secret }: Settings): Verdict {
  if (!api_key && !webhook_secret) return { ok: true };
  const key = api_key ? headerOf(headers, "x-api-key") : null;
  const signature = webhook_secret ? headerOf(headers, "x-delta-signature", "x-plane-signature") : null;
  if (key === null && signature === null) {
    const wanted = [...(api_key ? ["X-API-Key"] : []), ...(webhook_secret ? ["X-Delta-Signature"] : [])].join(" or ");
    return { ok: false, reason: `header ${wanted} is missing, and this webhook is checked` };
  }
  if (key !== null && !isSameSecret(key, api_key ?? ""))
    return { ok: false, reason: "header X-API-Key is not the configured key" };
  if (signature !== null && !isHmacSha256(signature.replace(/^sha256=/i, ""), body, webhook_secret ?? ""))
    return { ok: false, reason: "header X-Delta-Signature does not match the body: another secret, or the body was changed" };
  return { ok: true };
}
