import type { WebhookRequest } from "@signalbox/sdk";
import type { SentRequest } from "../platform/webhook-auth.ts";
import type { Connection } from "../plugins/connections.ts";
import type { InOrder, ReplayOptions } from "./incoming-event.ts";
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

/** How an event arrived if it was not a webhook. */
export interface DeliveryContext {
  /** Id of the event that is replayed. */
  readonly replayOf?: string;
  readonly polled?: boolean;
  /**
   * Whether Signalbox caused the event and wants its mappings to run. The platform's webhook about the same change then starts
   * nothing.
   */
  readonly own?: boolean;
  /** What an operator changes for this replay. */
  readonly replay?: ReplayOptions;
  /** Id of the event. A second attempt with the same id is a duplicate. */
  readonly id?: string;
  /**
   * Id of the message that contained the webhook, for sources without delivery ids. A second message with the same id is a
   * duplicate.
   */
  readonly messageId?: string | null;
  /** Stores it after the events that arrived before it. */
  readonly inOrder?: InOrder;
  /** Set if the webhook was stored while its plugin was unavailable. */
  readonly deferred?: DeferredDelivery;
}
/** A webhook that is parsed later than it arrived. */
interface DeferredDelivery {
  /** The id that its event will have. */
  readonly id: string;
  /** Ids of the webhook mappings for which it authenticated on arrival. */
  readonly proven: readonly number[];
  /** The names under which its body counts as received. */
  readonly scopes: readonly string[];
  /** Whether this is the last attempt: if parsing fails, the event is stored as unreadable. */
  readonly last: boolean;
  readonly inOrder: InOrder;
}
