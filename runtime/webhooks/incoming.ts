import type { EventAuthor, Json, SourceEvent } from "@signalbox/sdk";

/** Options of an operator's replay. */
export interface ReplayOptions {
  readonly dry_run: boolean;
  readonly agent_id?: string | undefined;
  /** The only task to run, whatever the mappings say. */
  readonly task_id?: string | undefined;
  readonly prompt?: string | undefined;
}

/** An authenticated event to dispatch. */
export interface Incoming {
  /** Id of its event; a new one if absent. If an event with this id exists, this one is a duplicate. */
  readonly id?: string;
  readonly source: string;
  /** Path segment of the webhook: the source's name or an integration's id. */
  readonly slug: string;
  readonly event: SourceEvent;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Its source checked a secret or signature. */
  readonly signed?: boolean;
  readonly payload?: Json;
  /** Logins of all accounts that Signalbox posts as at this source, as far as they are known. */
  readonly accounts: readonly string[];
  readonly replayOf?: string;
  readonly replay?: ReplayOptions;
  /** A webhook mapping of its path matched, so there is no tracker behind it. */
  readonly viaPath?: boolean;
  /** It came from a poll: a duplicate of any event with the same change key. */
  readonly polled?: boolean;
  /** Id of the message that contained it. It is the delivery id if the source provides none. */
  readonly messageId?: string | null;
  /** Signalbox caused it and wants it to run: see `DeliveryContext`. */
  readonly own?: boolean;
  /** Header of the webhook that names the trace of its sender. */
  readonly traceparent?: string | null;
  /** Triggers that the webhook mappings of its path name. */
  readonly triggers?: readonly string[];
  /** Why it starts nothing, if parsing or authentication found a reason. */
  readonly reason?: string;
  /** Reacts to the comment: its command was carried out, or there was nothing to do. Never throws. */
  readonly acknowledge?: (isDone: boolean) => void;
  /** Asks the platform for its author's standing; absent if the platform cannot be asked. Never rejects. */
  readonly findStanding?: () => Promise<EventAuthor["standing"]>;
  /** Stores it after the events that arrived before it. */
  readonly inOrder?: InOrder;
  /** Finds the webhook mappings whose filter matches; absent if no mapping is about the event. */
  readonly matching?: () => Promise<readonly { readonly canonical_trigger: string | null }[]>;
}

/** Runs `store` after the earlier events were stored, then lets the next one follow. Rejects if an earlier one failed. */
export type InOrder = <T>(store: () => Promise<T>) => Promise<T>;
