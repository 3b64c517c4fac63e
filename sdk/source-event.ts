import type { EventText } from "./event-text.ts";

/** A value or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;
export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };

/** A received webhook. Header names are lower-case; the values of a repeated header are joined with `, `. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** Raw bytes of the body. Verify signatures on these, not on parsed JSON. */
  readonly body: Uint8Array;
}

/** A verified webhook. `payload` is the parsed body; its content is untrusted and not validated. */
export interface WebhookPayload {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Json;
}

/** How a webhook is signed: a header with the HMAC-SHA256 of the raw body in hexadecimal or base64, or with the secret itself. */
export interface SignatureScheme {
  readonly type: "hmac-sha256" | "token";
  /** Name of the header, in lower case. */
  readonly header: string;
  /** Text before the value in the header, for example `sha256=`. */
  readonly prefix?: string;
  /** Member of `connection` that holds the secret. If it is not set, every webhook is rejected. */
  readonly secret: string;
}

/** `reason` says why the webhook was rejected. It is logged and must not contain the secret. */
export type VerificationResult = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** The issue, pull request or merge request of an event, with the identifiers of the platform. */
export interface Subject {
  /**
   * Project at the platform, for alpha `owner/repo`. The tools accept it as `project`. `-`: the payload names the issue only by an id of
   * the platform; `describe` then returns the subject.
   */
  readonly project: string;
  /** Number or key of the issue. The tools accept it as `issue`. */
  readonly issue: string;
}

/** Who caused an event. Facts that the platform does not report are `unknown` or `null`. */
export interface EventAuthor {
  /** Account id at the platform. */
  readonly id: string | null;
  /** Login, or the display name if the platform has no logins. */
  readonly name: string | null;
  readonly kind: "human" | "bot" | "app" | "unknown";
  /** Role of the author in the project of the event. */
  readonly standing: "owner" | "member" | "collaborator" | "contributor" | "none" | "unknown";
}

/** An event of a platform, in the form that all sources share. */
export interface SourceEvent {
  /** Id that the platform assigns to the delivery, as `shortId`; a redelivery has the same id. `null` if the platform sends none. */
  readonly delivery_id: string | null;
  /** Event name, spelled as in the source event mappings, for example `issues`. Empty if it could not be read. */
  readonly event_name: string;
  /** Action, spelled as in the source event mappings, for example `opened`. */
  readonly action: string | null;
  /** `null` if the event is not about an issue. */
  readonly subject: Subject | null;
  /** Title of the subject; `null` or absent if the payload does not contain it. It is untrusted data. */
  readonly title?: string | null;
  /** Login or account id of the user who caused the event, comparable with the result of `Source.account`. */
  readonly actor: string | null;
  /**
   * Text for the agent, in Markdown: title, body, comment, states. It is untrusted data. Give texts that the
   * platform shows separately, such as a comment and the description of its issue, as a list: see `sections`. The host cleans each alone,
   * so a code block or hidden element that one leaves open does not reach into the next.
   */
  readonly text: EventText;
  /** Whether the text carries the marker of a comment that Signalbox posted. See `hasMarker`. */
  readonly marked: boolean;
  /** When the event occurred at the platform, ISO 8601. */
  readonly occurred_at: string | null;
  /** Why the event starts nothing, regardless of the mappings, for example a hook of the whole server; `null` or absent otherwise. */
  readonly ignored?: string | null;
  /**
   * Required member that is missing in the payload, for example `issue.number`, or a missing header, for example `header X-Event`;
   * `null` if none is missing.
   */
  readonly missing_field: string | null;
  /**
   * Identifies the change, with the same value for a webhook and a poll: `issues/closed/owner/repo#12@<time>`. A polled event
   * whose key is known is a duplicate. Two webhooks can have the same key (two labels in one second), so webhooks are compared
   * by `delivery_id` only. `null` or absent if the source cannot identify the change.
   */
  readonly change_key?: string | null;
  /** Who caused the event. `null` or absent if the platform does not say. */
  readonly author?: EventAuthor | null;
  /** Id of the webhook at the platform that delivered the event: two hooks may deliver one change. */
  readonly hook_id?: string | null;
  /**
   * Identifies the change if the platform reports it with several webhooks of different content. If several webhooks have the same value
   * and different `hook_id`s within five minutes, the first is an event and the others are duplicates.
   */
  readonly same_as?: string | null;
  /** Whether the event reports a state that a later event replaces: edited, labelled, moved, synchronised. Default: `false`. */
  readonly snapshot?: boolean;
  /** Whether the event is about something that is not visible to everyone in the project, for example an internal note. */
  readonly private?: boolean;
  /** What changed, one line for each change, for example `status: To Do → Done`. */
  readonly changes?: readonly string[];
  /** Id of the comment that the event is about; `null` or absent if it is not about one. */
  readonly comment?: string | null;
  /**
   * Text of a new comment as its author wrote it, without its surroundings in `text`. The host reads commands at its beginning,
   * such as `/stop`. `null` or absent for anything else, including edited comments.
   */
  readonly comment_text?: string | null;
  /**
   * Whether the event says that the issue was closed or deleted: the host then cancels the executions that earlier events started
   * there. If absent, the trigger decides: `issue.closed`, `pr.closed` and `pr.merged` close the issue.
   */
  readonly closes?: boolean;
  /** Thread to which the answer is posted, if it is not the issue itself. The source gets it back in `NewComment.thread`. */
  readonly thread?: string | null;
  /**
   * Whether the payload does not contain the title, state, labels, author or address of the subject. The host then asks the source to
   * `describe` it before a task runs. Default: `false`.
   */
  readonly incomplete?: boolean;
}
