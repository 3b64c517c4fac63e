import { firstHeader, isValidHmacSha256, type VerificationResult, type WebhookRequest } from "@signalbox/sdk";
import type { Settings } from "./settings.ts";

/** Linear asks receivers to refuse older webhooks, so that a recorded webhook cannot be replayed later. Milliseconds. */
const oldest = 60_000;

export function verify({ headers, body }: WebhookRequest, { webhook_secret }: Settings, now = Date.now()): VerificationResult {
  if (!webhook_secret) return { ok: false, reason: "missing setting webhook_secret: without it webhooks cannot be verified" };
  const sent = firstHeader(headers, "linear-signature");
  if (sent === null) return { ok: false, reason: "missing header Linear-Signature" };
  if (!isValidHmacSha256(sent, body, webhook_secret))
    return { ok: false, reason: "header Linear-Signature does not match the body" };
  // The signature covers the timestamp, so only Linear can leave it out or change it.
  const sentAt = timestampIn(body);
  if (sentAt === null || Math.abs(now - sentAt) <= oldest) return { ok: true };
  const seconds = Math.round((now - sentAt) / 1000);
  return {
    ok: false,
    reason: `webhookTimestamp must be at most 60 s from now; it is ${seconds} s. Check this server's clock.`,
  };
}

function timestampIn(body: Uint8Array): number | null {
  try {
    const value = (JSON.parse(new TextDecoder().decode(body)) as { webhookTimestamp?: unknown } | null)?.webhookTimestamp;
    return typeof value === "number" ? value : null;
  } catch {
    return null;
  }
}
