import { createHmac, randomUUID } from "node:crypto";
import type { JsonAnswer, JsonClient } from "./json-client.ts";

export interface Delivery {
  /** alpha's name of the event, for example `issues`. Default: derived from the members of the payload. */
  readonly event?: string;
  /** Id of the delivery. Default: a new one. The same id again is a redelivery. */
  readonly delivery?: string;
  /** Signs the payload, if set. */
  readonly secret?: string;
  /** Replaces the payload's action. */
  readonly action?: string;
  /** Default: `alpha`. */
  readonly slug?: string;
  /** Headers to add, which take precedence over those that the sender sets. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The response of the webhook endpoint. */
export interface Receipt {
  readonly event_id: string;
  readonly status: "accepted" | "discarded" | "duplicate";
  readonly canonical_trigger?: string | null;
  readonly canonical_triggers?: readonly string[];
  readonly executions?: readonly { readonly id: string; readonly task_id: string }[];
  readonly error?: string;
}

/** Sends an alpha payload like the platform: with its headers, and its signature over the exact bytes. */
export function deliver(client: JsonClient, payload: object, delivery: Delivery = {}): Promise<JsonAnswer<Receipt>> {
  const whole = delivery.action === undefined ? payload : { ...payload, action: delivery.action };
  const body = JSON.stringify(whole);
  const headers = {
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-alpha-event": delivery.event ?? eventOf(payload),
    "x-alpha-delivery": delivery.delivery ?? randomUUID(),
    ...(delivery.secret === undefined ? {} : { "x-hub-signature-256": signature(body, delivery.secret) }),
    ...delivery.headers,
  };
  return client.post<Receipt>(`/webhook/${delivery.slug ?? "alpha"}`, body, { headers });
}

export const signature = (body: string | Uint8Array, secret: string): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

function eventOf(payload: object): string {
  if ("comment" in payload && "issue" in payload) return "issue_comment";
  if ("review" in payload) return "pull_request_review";
  if ("pull_request" in payload) return "pull_request";
  if ("issue" in payload) return "issues";
  if ("deployment_status" in payload) return "deployment_status";
  throw new Error("deliver: name the event, it does not follow from this payload");
}
