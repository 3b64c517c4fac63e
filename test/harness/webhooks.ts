import { createHmac, randomUUID } from "node:crypto";
import type { JsonAnswer, JsonClient } from "./json-client.ts";

export interface Delivery {
  /** alpha's name of the event, for example `issues`; found from the payload's members where absent. */
  readonly event?: string;
  /** Id of the delivery; a new one where absent. The same one again is a redelivery. */
  readonly delivery?: string;
  /** Signs the payload where given. */
  readonly secret?: string;
  /** Replaces the payload's action. */
  readonly action?: string;
  /** `alpha` where absent. */
  readonly slug?: string;
  /** Added to, and winning over, those that the sender sets. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the door answers. */
export interface Receipt {
  readonly event_id: string;
  readonly status: "accepted" | "discarded" | "duplicate";
  readonly canonical_trigger?: string | null;
  readonly canonical_triggers?: readonly string[];
  readonly executions?: readonly { readonly id: string; readonly task_id: string }[];
  readonly error?: string;
}

/** Sends an alpha payload as the platform does: its headers, its signature over the exact bytes. */
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
