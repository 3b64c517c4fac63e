import type { WebhookRequest } from "@signalbox/sdk";
import type { SentRequest } from "../platform/webhook-auth.ts";
import type { Connection } from "../plugins/connections.ts";
import type { PathRule } from "./mapping-rules.ts";

/**
 * Target of a webhook path: an account at a platform, or the webhook mappings of the path. `slug`: the path, in one spelling: the id of
 * an integration can be sent in capital letters, and its deliveries are the same.
 */
export type Entry =
  | { readonly kind: "connection"; readonly slug: string; readonly connection: Connection }
  | { readonly kind: "path"; readonly slug: string; readonly rules: readonly PathRule[] };

/** A webhook. With `address`, it comes from the network and must authenticate; without, it was authenticated before. */
export interface ReceivedWebhook extends WebhookRequest, Partial<Pick<SentRequest, "address">> {
  /** Whether its source checked a secret or signature. */
  readonly signed?: boolean;
  /** The bytes as sent, which signatures cover, if `body` is the JSON of a form. */
  readonly sent?: Uint8Array;
}

/** Options of an operator's replay. */
export interface ReplayOptions {
  readonly dry_run: boolean;
  readonly agent_id?: string | undefined;
  /** The only task to run, regardless of the mappings. */
  readonly task_id?: string | undefined;
  readonly prompt?: string | undefined;
}

/** Where an event came from. */
export type Origin =
  | { readonly kind: "webhook" }
  /** A message of a queue. `messageId` is the delivery id if the source provides none. */
  | { readonly kind: "message"; readonly messageId: string | null }
  /** A poll. The event is a duplicate of any event with the same change key. */
  | { readonly kind: "poll" }
  /** Signalbox itself, which wants the event to run. The platform's webhook about the same change then starts nothing. */
  | { readonly kind: "own" }
  /** An operator, who repeats the event `replayOf`. */
  | { readonly kind: "replay"; readonly replayOf: string; readonly options: ReplayOptions };

/**
 * Whether a platform reported the event. Otherwise Signalbox or an operator wants it to run: it is no duplicate of what the platform
 * reported, it ends no runs, and its author is trusted.
 */
export const isReported = ({ kind }: Origin): boolean => kind !== "own" && kind !== "replay";

/** What an operator changed for a replay; `undefined` if the event is no replay. */
export const replayOptions = (origin: Origin): ReplayOptions | undefined =>
  origin.kind === "replay" ? origin.options : undefined;

/** Runs `store` after the stores of earlier events have begun, then lets the next one follow. Rejects if an earlier one failed. */
export type InOrder = <T>(store: () => Promise<T>) => Promise<T>;

/** How an event arrived. */
export interface DeliveryContext {
  readonly origin: Origin;
  /** Id of the event. A second attempt with the same id is a duplicate. */
  readonly id?: string;
  /** Stores it after the events that arrived before it. */
  readonly inOrder?: InOrder;
  /**
   * Set if the webhook was stored while its plugin was unavailable. `last`: whether this is the last attempt; if parsing fails, the event
   * is stored as unreadable.
   */
  readonly deferred?: CheckedOnArrival & { readonly last: boolean };
}

/** What was checked when a deferred webhook arrived. It is stored in place of the credential. */
export interface CheckedOnArrival {
  /** Ids of the webhook mappings for which it authenticated. */
  readonly proven: readonly number[];
  /** The names under which its body counts as received. */
  readonly scopes: readonly string[];
}
