import type { Json, WebhookRequest } from "@signalbox/sdk";
import type { Evaluator } from "../platform/evaluator.ts";
import type { Log, Report } from "../platform/log.ts";
import type { SentRequest } from "../platform/webhook-auth.ts";
import type { Accounts } from "../plugins/accounts.ts";
import type { Connection, Connections } from "../plugins/connections.ts";
import type { Standings } from "../plugins/standings.ts";
import type { WebhookHead } from "./admit.ts";
import type { DeferredWebhooks } from "./deferred/defer.ts";
import type { Dispatcher, Receipt } from "./dispatch.ts";
import type { InOrder, ReplayOptions } from "./incoming-event.ts";
import type { MappingRules, PathRule } from "./mapping-rules.ts";
import type { PreviousSecrets } from "./previous-secret.ts";
import type { Refusals } from "./refusals.ts";

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

/** Target of a webhook path: an account at a platform, or the webhook mappings of the path. */
export type Entry =
  | { readonly kind: "connection"; readonly connection: Connection }
  | { readonly kind: "path"; readonly rules: readonly PathRule[] };

/** A webhook. With `address`, it comes from the network and must authenticate; without, it was authenticated before. */
export interface ReceivedWebhook extends WebhookRequest, Partial<Pick<SentRequest, "address">> {
  /** Whether its source checked a secret or signature. */
  readonly signed?: boolean;
  /** The bytes as sent, which signatures cover, if `body` is the JSON of a form. */
  readonly sent?: Uint8Array;
}

/** A webhook that passed every check that needs no body. */
export interface Admitted {
  readonly entry: Entry;
  /** Whether the webhook must authenticate. */
  readonly needsProof: boolean;
}

export interface Receiver {
  /**
   * The target of `/webhook/<slug>`. The slug is the name of a source, the id of an integration, or the path of a webhook
   * mapping.
   */
  entry(slug: string): Promise<Entry | undefined>;
  /** Checks a webhook before its body is read. Throws `not_found` or `unauthenticated`; then nothing is stored. */
  admit(slug: string, head: WebhookHead): Promise<Admitted>;
  /** Authenticates an admitted webhook on its raw bytes. Throws `unauthenticated`; then nothing is stored. */
  verify(entry: Entry, slug: string, request: SentRequest): Promise<Entry>;
  /** Parses and dispatches an authenticated webhook, or an event of a poll or a replay in the same format. */
  accept(entry: Entry, slug: string, request: ReceivedWebhook, payload: Json, context?: DeliveryContext): Promise<Receipt>;
  /** Stores the event of a webhook that could not be parsed, as discarded for this reason. */
  storeUnreadable(webhook: UnreadableWebhook, reason: string): Promise<void>;
  /** Stores a refused webhook without its body. `isKnown`: its path exists. */
  noteRefusal(refused: { slug: string; isKnown: boolean; head: WebhookHead; reason: string }): Promise<void>;
  /** Resolves once the refusals so far are stored. */
  refusalsStored(): Promise<void>;
}
export interface UnreadableWebhook extends WebhookRequest {
  readonly id: string;
  readonly source: string;
  readonly slug: string;
}

export interface ReceiverOptions {
  readonly connections: Pick<Connections, "bySlug" | "environment">;
  readonly accounts: Accounts;
  readonly standings: Standings;
  readonly rules: MappingRules;
  readonly evaluator: Evaluator;
  readonly dispatcher: Dispatcher;
  readonly deferred: DeferredWebhooks;
  readonly refusals: Refusals;
  readonly previousSecrets: PreviousSecrets;
  /** Whether a copy of a signed body is a duplicate. */
  readonly refusesCopies: boolean;
  /** Writes a warning to the watchdog. */
  readonly warn: Report;
  readonly log: Log;
  /** Whether anything is written to trackers. */
  readonly trackerUpdates: boolean;
}
