import { equalSecrets, firstHeader, type VerificationResult, type WebhookRequest } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

/** The platform sends the secret itself. Compared in constant time. With neither secret nor token every webhook is accepted. */
export function verify(request: WebhookRequest, connection: Settings): VerificationResult {
  const secret = connection.webhook_secret ?? connection.token;
  if (!secret) return { ok: true };
  const sent = firstHeader(request.headers, "x-beta-token", "x-gitlab-token");
  if (sent === null) return { ok: false, reason: "missing header X-Beta-Token: this webhook has a secret" };
  return equalSecrets(sent, secret)
    ? { ok: true }
    : { ok: false, reason: "header X-Beta-Token does not match the configured secret" };
}
