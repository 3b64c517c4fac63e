import type { z } from "zod";
import type { AccountReport } from "./account-report.ts";
import type {
  EventAuthor,
  MaybePromise,
  SignatureScheme,
  SourceEvent,
  Subject,
  VerificationResult,
  WebhookPayload,
  WebhookRequest,
} from "./source-event.ts";
import type { CreatedIssue, NewIssue } from "./use-case.ts";

/** Facts about a subject that the payload of an event does not contain. Facts that the platform does not report are `null`. */
export interface SubjectDetails {
  /** The subject with the identifiers that people know, if the event has others: for example the key of an issue instead of its id. */
  readonly subject?: Subject;
  readonly title: string | null;
  readonly state: string | null;
  readonly labels: readonly string[];
  /** Login or name. */
  readonly author: string | null;
  /** URL where people read it. */
  readonly url: string | null;
  /** Names for ids in the text of the event, for example of states. The host replaces the ids by them. */
  readonly names?: Readonly<Record<string, string>>;
}

/** Context of one call to a plugin. */
export interface CallContext<Settings = Record<string, unknown>> {
  /** Aborted at the deadline of the call. Pass it to every request. */
  readonly signal: AbortSignal;
  /** Settings and credentials of the account to use, as parsed by the source's `connection`; `{}` for plugins without a source. */
  readonly connection: Settings;
  /** Idempotency key: the same for every retry of this call, unique among all calls. Store it with every write. */
  readonly key: string;
  /**
   * Who can read what the run writes. `true`: the run is private (`SourceEvent.private`), so only people who can read internal comments
   * may read the writes of a tool; in such a run, the host calls no writing tool without `keeps_private`. `false`: everyone who
   * can see the issue, so a reading tool leaves out content that only some of them can read, and throws `unsupported` for a
   * restricted issue. Absent outside runs: an operator's call, a chat.
   */
  readonly private?: boolean;
}

/** A comment to post on an issue. */
export interface NewComment {
  readonly subject: Subject;
  /** Markdown. */
  readonly body: string;
  /** Post it so that only people who can read internal comments can read it. A source that cannot do that throws `unsupported`. */
  readonly private?: boolean;
  /** `thread` of the event that the comment answers. */
  readonly thread?: string | null;
}

/** The account whose standing `Source.standing` looks up. */
export interface StandingQuery {
  /** `project` of the event's subject. */
  readonly project: string;
  readonly author: EventAuthor;
}

/** Requirements for the platform's webhook. */
export interface WantedWebhook {
  /** Project whose webhook it is, as in `Subject.project`; `null`: the webhook of the whole account, if the platform has one. */
  readonly project: string | null;
  /** URL that the webhook must point to. */
  readonly url: string;
  /** Events of the mappings. */
  readonly events: readonly { readonly event_name: string; readonly action: string | null }[];
  /** Whether to create the webhook or add the missing events, if the account has the permission. `false`: nothing is changed. */
  readonly apply: boolean;
}
/** Configuration of the platform's webhook, in the platform's own names. */
export interface WebhookReport {
  /** Id of the webhook on the platform; `null` if none points to the URL. */
  readonly id: string | null;
  /** Whether the webhook is enabled at the platform. */
  readonly active: boolean;
  /** Events that the webhook delivers. */
  readonly configured: readonly string[];
  /** Events of the mappings that the webhook does not deliver. */
  readonly missing: readonly string[];
  /** Event names in the mappings that no webhook of the platform delivers. */
  readonly unknown: readonly string[];
  /** Change that `apply` made. */
  readonly changed: "created" | "updated" | null;
  /** Other problems of the webhook, one sentence each, for example that it sends no secret. */
  readonly notes: readonly string[];
}

/** Sign of an agent's work on an issue: it has begun, has answered, or has failed. */
export type Reaction = "working" | "done" | "failed";
/** The target of a reaction: the comment that triggered the run, or the issue itself if `comment` is `null`. */
export interface ReactionTarget {
  readonly subject: Subject;
  readonly comment: string | null;
}

/** A comment that exists in the tracker: its id, and the URL where people read it. */
export interface PostedComment {
  readonly id: string;
  readonly url: string;
}

/** Result of one poll. */
export interface PollBatch {
  /** Oldest first: the host stores and dispatches them in this order. */
  readonly events: readonly WebhookPayload[];
  /** Passed unchanged to the next poll, possibly in another process. Stored once all events are. */
  readonly cursor: string;
  /** Items that the poll skipped because they cannot be read. The host reports each of them once. */
  readonly unreadable?: readonly UnreadableItem[];
}

/** An item of a platform's list that a poll cannot read, for example because the time of its last change is missing. */
export interface UnreadableItem {
  /** Names the item, for example `issues: 12`. */
  readonly item: string;
  readonly reason: string;
}

/** A tracker or code host: verifies and parses its webhooks, posts comments and can be polled. Calls throw `PluginError`. */
export interface Source<Settings extends z.ZodObject = z.ZodObject> {
  /** One sentence that names the platform and its API version. */
  readonly about: string;
  /** Schema of the settings and credentials of one account. */
  readonly connection: Settings;
  /** Members of `connection` that hold a secret. */
  readonly secrets: readonly (keyof z.output<Settings> & string)[];
  /** Members of `connection` that posting requires. If one is not set, the source is not configured. */
  readonly required: readonly (keyof z.output<Settings> & string)[];
  /**
   * How webhooks are signed. With it, the host verifies webhooks itself while a sandboxed plugin is unavailable, and defers
   * them until the plugin can parse them. Without it, the host responds with 503 while the plugin is unavailable.
   */
  readonly signature?: SignatureScheme;
  /**
   * Maximum length of a comment, in characters. The host cuts a longer answer at the end of a paragraph. If the
   * platform can also refuse shorter comments, `deliver` and `update` post them with `writeShorter`.
   */
  readonly maxCommentLength?: number;
  /** Verifies the sender on the raw bytes, in constant time. */
  verify(request: WebhookRequest, connection: z.output<Settings>): MaybePromise<VerificationResult>;
  /**
   * Parses an event. It must not throw on an unexpected payload; it names a missing member in `missing_field`. The longest lists and the
   * deepest members of a large payload may be missing.
   */
  parse(request: WebhookPayload): MaybePromise<SourceEvent>;
  /** Login or id of the account that `connection` posts as; `null` if the platform does not provide it. */
  account(call: CallContext<z.output<Settings>>): Promise<string | null>;
  /** Tests the connection with a request that needs the credential. Can return a report about the account. */
  // biome-ignore lint/suspicious/noConfusingVoidType: plugin authors write checks that return nothing
  check(call: CallContext<z.output<Settings>>): Promise<AccountReport | void>;
  /** Posts a comment with `call.key` in its marker. */
  deliver(post: NewComment, call: CallContext<z.output<Settings>>): Promise<PostedComment>;
  /** Finds the comment with `call.key` in its marker; `null` if there is none. The host calls it after a crash or a lost response. */
  find(post: NewComment, call: CallContext<z.output<Settings>>): Promise<PostedComment | null>;
  /**
   * Returns every comment on the issue with `call.key`, oldest first. Together with `retract`, it lets the host remove the newer of
   * two comments that a frozen replica and its successor posted.
   */
  findAll?(post: NewComment, call: CallContext<z.output<Settings>>): Promise<readonly PostedComment[]>;
  /** Deletes a comment that `findAll` returned. Succeeds if the comment no longer exists. */
  retract?(post: NewComment, comment: PostedComment, call: CallContext<z.output<Settings>>): Promise<void>;
  /**
   * Replaces the reaction of this account on an issue or comment; `null` removes it. Repeating it changes nothing. Omit it if the
   * platform has no reactions.
   */
  react?(target: ReactionTarget, reaction: Reaction | null, call: CallContext<z.output<Settings>>): Promise<void>;
  /**
   * Replaces the text of a comment that `deliver` posted. The new marker contains `call.key`, so that `find` shows whether the
   * edit succeeded. Throws `not_found` if the comment no longer exists.
   */
  update?(post: NewComment, comment: PostedComment, call: CallContext<z.output<Settings>>): Promise<PostedComment>;
  /** Returns facts about a subject, and names for the ids in `text`, the event's text. Reads only; the host calls it once per event. */
  describe?(
    about: { readonly subject: Subject; readonly text: string },
    call: CallContext<z.output<Settings>>,
  ): Promise<SubjectDetails>;
  /**
   * Returns the changes in a project since `cursor`, or since `since` (ISO 8601) if `cursor` is `null`, as webhooks would deliver
   * them.
   */
  poll?(
    from: { project: string; since: string; cursor: string | null },
    call: CallContext<z.output<Settings>>,
  ): Promise<PollBatch>;
  /** Creates an issue. `event` is its creation as a webhook would deliver it, or `null` if the source cannot build it. */
  createIssue?(
    issue: NewIssue,
    call: CallContext<z.output<Settings>>,
  ): Promise<CreatedIssue & { readonly event: WebhookPayload | null }>;
  /** Returns the platform's id of a project that users know by another name. Omit it if users know the id. */
  projectId?(name: string, call: CallContext<z.output<Settings>>): Promise<string>;
  /** Closes an issue that `createIssue` created. */
  closeIssue?(issue: { project: string; key: string }, call: CallContext<z.output<Settings>>): Promise<void>;
  /**
   * Standing of an account in a project, for events whose payload does not contain it. The host caches the result and never calls it
   * while a webhook waits for its response. `unknown` if the credential has no permission to read it.
   */
  standing?(query: StandingQuery, call: CallContext<z.output<Settings>>): Promise<EventAuthor["standing"]>;
  /**
   * Compares the platform's webhook for the URL with the events of the mappings. With `apply`, creates it or adds the
   * missing events, with the connection's webhook secret. Throws `unauthorized` if the credential has no permission to read webhooks.
   */
  checkWebhook?(wanted: WantedWebhook, call: CallContext<z.output<Settings>>): Promise<WebhookReport>;
}
