import type { Json, SourceEvent } from "@signalbox/sdk";
import type { InOrder, Origin } from "./received-webhook.ts";

/** An authenticated event to dispatch. */
export interface IncomingEvent {
  /** Id of its event; a new one if absent. If an event with this id exists, this one is a duplicate. */
  readonly id?: string;
  readonly origin: Origin;
  readonly source: string;
  /** Path segment of the webhook: the source's name or an integration's id. */
  readonly slug: string;
  readonly event: SourceEvent;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The names under which its body counts as received; none if no secret or signature was checked. */
  readonly replayScopes?: readonly string[];
  readonly payload?: Json;
  /** Known logins of all accounts with which Signalbox posts at this source. */
  readonly accounts: readonly string[];
  /** Whether a webhook mapping of its path matched, so that it has no tracker. */
  readonly viaPath?: boolean;
  /** Header of the webhook that contains the trace of its sender. */
  readonly traceparent?: string | null;
  /** Triggers that the webhook mappings of its path name. */
  readonly triggers?: readonly string[];
  /** Why it starts nothing, if parsing or authentication found a reason. */
  readonly reason?: string;
  /** Reacts to the comment after its command was executed or had no effect. Never throws. */
  readonly acknowledge?: (isDone: boolean) => void;
  /** Whether its author's standing can be requested from the platform. */
  readonly canFindStanding?: boolean;
  /** Whether the payload names its issue by an id only, and its project and key can be requested from the platform. */
  readonly canFindName?: boolean;
  /** Stores it after the events that arrived before it. */
  readonly inOrder?: InOrder;
  /** Finds the webhook mappings whose filter matches; absent if there is no mapping for the event. */
  readonly matching?: () => Promise<readonly { readonly canonical_trigger: string | null }[]>;
}

/** The same once its id is known. `traceparent` is `null` if the header is missing or invalid. */
export interface IdentifiedEvent extends IncomingEvent {
  readonly id: string;
  readonly traceparent: string | null;
}
