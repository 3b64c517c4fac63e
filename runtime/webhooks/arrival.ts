import type { EventAuthor } from "@signalbox/sdk";
import type { Suspect } from "../own-writes/queries.ts";

export interface NewExecution {
  readonly id: string;
  readonly task_id: string;
  readonly canonical_trigger: string;
  /** Maximum number of consecutive events that answer our writes before an execution is held; 0: no limit. */
  readonly max_hops?: number;
  /** Why it is held, with `{hops}` for their number. */
  readonly loop_reason?: string | null;
  readonly dry_run?: boolean;
  /** The agent and the prompt that a replay names. */
  readonly overrides?: { readonly agent_id?: string | undefined; readonly prompt?: string | undefined };
}

/** An event as it is stored. */
export interface NewEvent {
  readonly id: string;
  readonly source: string;
  readonly slug: string;
  readonly delivery_id: string | null;
  readonly change_key: string | null;
  readonly event_name: string | null;
  readonly action: string | null;
  readonly actor: string | null;
  readonly subject: string | null;
  /** Title of the subject at that time; `null` if the payload does not contain it. */
  readonly title: string | null;
  readonly canonical_triggers: readonly string[];
  readonly outcome: "dispatched" | "discarded";
  readonly reason: string | null;
  readonly replay_of: string | null;
  readonly polled: boolean;
  readonly author: EventAuthor | null;
  readonly occurred_at: string | null;
  readonly hook_id: string | null;
  readonly snapshot: boolean;
  readonly private: boolean;
  readonly comment: string | null;
  readonly thread: string | null;
  readonly incomplete: boolean;
  readonly traceparent: string | null;
  /** JSON of the headers that `parse` may need again. */
  readonly headers: string;
  /** Packed JSON, or JSON, which is UTF-8 without NUL characters. */
  readonly body: Uint8Array;
}

/** An event to store, with the executions that it starts and the keys that identify its copies. */
export interface Arrival {
  readonly event: NewEvent;
  readonly project: string | null;
  readonly issue: string | null;
  /** The text that its agents read. */
  readonly content: string;
  /** The same, packed, in base64, if it is stored so. */
  readonly packedContent?: string | undefined;
  /** What changed, one line for each change. */
  readonly changes?: readonly string[];
  /** Whether it cancels the executions that earlier events started on its issue. */
  readonly closes?: boolean;
  /** Its executions wait this long for a newer snapshot, which replaces them. 0: they do not wait and are not replaced. */
  readonly delayMs?: number;
  /**
   * Set if a repeated body counts as a duplicate: the SHA-256 of the body, in hexadecimal, and the names under which it counts as
   * received.
   */
  readonly copy?: { readonly scopes: readonly string[]; readonly digest: string } | null;
  /** SHA-256 of the content that all hooks deliver alike, in hexadecimal, for an event that names its hook. */
  readonly hookDigest?: string | null;
  /** Set if the event may report our own change. */
  readonly suspect?: Omit<Suspect, "id" | "subject"> | null;
  readonly executions: readonly NewExecution[];
}

/** The outcome of a new event. Only the database knows whether we made the change ourselves. */
export interface StoredEvent {
  readonly id: string;
  readonly outcome: "dispatched" | "discarded";
  readonly reason: string | null;
  /** How many of its executions are held. */
  readonly held: number;
  /** Ids of the executions that it cancelled. */
  readonly cancelled: readonly string[];
}
