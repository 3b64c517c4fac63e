import type { EventAuthor, Json, SourceEvent, Subject } from "@signalbox/sdk";
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
  /** Requests its author's standing in a project from the platform; absent if that is impossible. Never rejects. */
  readonly findStanding?: (project: string) => Promise<EventAuthor["standing"]>;
  /**
   * Requests the project and key of its issue from the platform, if the payload names it by an id only; its subject itself if the
   * platform knows no other, `null` if it did not tell. Never rejects.
   */
  readonly findName?: () => Promise<Subject | null>;
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
