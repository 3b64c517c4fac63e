import { createHmac } from "node:crypto";
import { equalSecrets, firstHeader } from "@signalbox/sdk";

/** Slack asks receivers to refuse older requests, so that a recorded request cannot be replayed later. Seconds. */
const oldest = 300;

/** Why a request is not Slack's; `null` if it is. https://docs.slack.dev/authentication/verifying-requests-from-slack */
export function refusalOf(
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  secret: string,
  now = Date.now(),
): string | null {
  const [sent, timestamp] = [firstHeader(headers, "x-slack-signature"), firstHeader(headers, "x-slack-request-timestamp")];
  if (sent === null || timestamp === null) return "missing header X-Slack-Signature or X-Slack-Request-Timestamp";
  if (!/^\d{1,12}$/.test(timestamp)) return "header X-Slack-Request-Timestamp must be seconds since 1970";
  const hmac = createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body);
  if (!equalSecrets(sent, `v0=${hmac.digest("hex")}`)) return "header X-Slack-Signature does not match the body";
  const age = Math.round(now / 1000 - Number(timestamp));
  return Math.abs(age) <= oldest
    ? null
    : `header X-Slack-Request-Timestamp must be at most ${oldest} s from now; it is ${age} s. Check this server's clock.`;
}
