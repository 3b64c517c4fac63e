import type { z } from "zod";
import type { KnowledgeConnector } from "./knowledge.ts";
import type { MemoryStore, RedisAccess, SqlAccess, VectorSettings } from "./memory.ts";
import type { Offload, OffloadedFunctions } from "./offload.ts";
import type { Queue } from "./queue.ts";
import type { Route } from "./route.ts";
import type { SharedThrottle } from "./shared-throttle.ts";
import type { CreatedIssue, NewIssue, OperationsAccess, TrackersAccess, UseCase } from "./use-case.ts";

/*
 * The types of all values that the host and a plugin exchange. They are JSON, except bytes (a `Uint8Array` within one
 * process, base64 between two processes) and deadlines (an `AbortSignal`). The same plugin therefore runs in the host's
 * process or in a sandboxed process of its own.
 */

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
  /** Project at the platform, for alpha `owner/repo`. The tools accept it as `project`. */
  readonly project: string;
  /** Number or key of the issue. The tools accept it as `issue`. */
  readonly issue: string;
}

/** Who caused an event. What the platform does not tell is `unknown` or `null`. */
export interface EventAuthor {
  /** Account id at the platform. */
  readonly id: string | null;
  /** Login, or the display name where the platform has no logins. */
  readonly name: string | null;
  readonly kind: "human" | "bot" | "app" | "unknown";
  /** What the author is in the project of the event. */
  readonly standing: "owner" | "member" | "collaborator" | "contributor" | "none" | "unknown";
}

/** An event of a platform, in the form that all sources share. */
export interface SourceEvent {
  /** Id that the platform assigns to the delivery; a redelivery has the same id. `null` if the platform sends none. */
  readonly delivery_id: string | null;
  /** Event name, spelled as in the source event mappings, for example `issues`. Empty if it could not be read. */
  readonly event_name: string;
  /** Action, spelled as in the source event mappings, for example `opened`. */
  readonly action: string | null;
  /** `null` if the event is not about an issue. */
  readonly subject: Subject | null;
  /** Login or account id of the user who caused the event, comparable with the result of `Source.account`. */
  readonly actor: string | null;
  /** Text for the agent, in Markdown: title, body, comment, states. It is untrusted data. */
  readonly text: string;
  /** Whether the text carries the marker of a comment that Signalbox posted. See `hasMarker`. */
  readonly marked: boolean;
  /** When the event occurred at the platform, ISO 8601. */
  readonly occurred_at: string | null;
  /** Why the event starts nothing, whatever the mappings say, for example a hook of the whole server; `null` or absent otherwise. */
  readonly ignored?: string | null;
  /** Required member that is missing in the payload, for example `issue.number`; `null` if none is missing. */
  readonly missing_field: string | null;
  /**
   * Identifies the change, with the same value for a webhook and a poll: `issues/closed/owner/repo#12@<time>`. A polled event
   * whose key is known is a duplicate. Two webhooks can have the same key (two labels in one second), so webhooks are compared
   * by `delivery_id` only. `null` or absent if the source cannot identify the change.
   */
  readonly change_key?: string | null;
  /** Who caused the event. `null` or absent if the platform tells nothing about it. */
  readonly author?: EventAuthor | null;
  /** Id of the webhook at the platform that delivered the event: two hooks may deliver one change. */
  readonly hook_id?: string | null;
  /** Whether the event tells of a state that a later event replaces: edited, labelled, moved, synchronised. Default: `false`. */
  readonly snapshot?: boolean;
  /** Whether the event is about something that not everybody who can see the project can see, for example an internal note. */
  readonly private?: boolean;
  /** What changed, one line for each change, for example `status: To Do → Done`. */
  readonly changes?: readonly string[];
  /** Id of the comment that the event is about; `null` or absent if it is not about one. */
  readonly comment?: string | null;
  /**
   * Text of a new comment as its author wrote it, without what surrounds it in `text`. The host reads commands at its beginning,
   * such as `/stop`. `null` or absent for anything else, edits of comments included.
   */
  readonly comment_text?: string | null;
  /**
   * Whether the event says that the issue was closed or deleted: the host cancels what earlier events began there. Absent: decided
   * by the trigger, which closes if it is `issue.closed`, `pr.closed` or `pr.merged`.
   */
  readonly closes?: boolean;
  /** What the answer goes to, where it is not the issue itself. The source gets it back in `NewComment.thread`. */
  readonly thread?: string | null;
  /**
   * Whether the payload lacks the title, state, labels, author or address of the subject. The host then asks the source to
   * `describe` it before a task runs. Default: `false`.
   */
  readonly incomplete?: boolean;
}

/** What a source tells about a subject, for events whose payload does not. What the platform does not tell is `null`. */
export interface SubjectDetails {
  /** The subject by the identifiers that people know, where the event has others: the key of an issue that came with its id. */
  readonly subject?: Subject;
  readonly title: string | null;
  readonly state: string | null;
  readonly labels: readonly string[];
  /** Login or name. */
  readonly author: string | null;
  /** URL where people read it. */
  readonly url: string | null;
  /** Names of ids in the text of the event, for example of states. The host puts them in the place of the ids. */
  readonly names?: Readonly<Record<string, string>>;
}

/** Context of one call to a plugin. */
export interface CallContext<Settings = Record<string, unknown>> {
  /** Aborted at the deadline of the call. Pass it to every request. */
  readonly signal: AbortSignal;
  /** Settings and credentials of the account to use, as parsed by the source's `connection`; `{}` for plugins without a source. */
  readonly connection: Settings;
  /** Idempotency key: the same for every retry of this call, unique among all calls. Store it with everything that is written. */
  readonly key: string;
  /**
   * The run is about something private (`SourceEvent.private`): what a tool writes must be readable only by those who can read
   * internal comments. Set for tools with `keeps_private` only; the host calls no other tool that writes in such a run.
   */
  readonly private?: boolean;
}

/** A comment to post on an issue. */
export interface NewComment {
  readonly subject: Subject;
  /** Markdown. */
  readonly body: string;
  /** Post where only those can read it who can read internal comments. A source that cannot do that throws `unsupported`. */
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

/** What the platform's webhook has to deliver. */
export interface WantedWebhook {
  /** Project whose webhook it is, as in `Subject.project`; `null`: the webhook of the whole account, where the platform has such. */
  readonly project: string | null;
  /** URL that the webhook must lead to. */
  readonly url: string;
  /** The events that mappings name. */
  readonly events: readonly { readonly event_name: string; readonly action: string | null }[];
  /** Creates the webhook, or adds the missing events to it, if the account may. `false`: nothing is changed. */
  readonly apply: boolean;
}
/** What the platform's webhook is configured for, in the platform's own names. */
export interface WebhookReport {
  /** Id of the webhook at the platform; `null` if none leads to the URL. */
  readonly id: string | null;
  /** Whether the platform delivers by it: it is not disabled. */
  readonly active: boolean;
  /** The events that it delivers. */
  readonly configured: readonly string[];
  /** Events that mappings need and that it does not deliver. */
  readonly missing: readonly string[];
  /** Names of mapped events that no webhook of the platform delivers. */
  readonly unknown: readonly string[];
  /** What `apply` changed. */
  readonly changed: "created" | "updated" | null;
  /** Anything else that is wrong with the webhook, one sentence each, for example that it sends no secret. */
  readonly notes: readonly string[];
}

/** A sign that an agent works on an issue: it has begun, has answered, or has failed. */
export type Reaction = "working" | "done" | "failed";
/** What a reaction is put on: the comment that triggered the run, or the issue itself where `comment` is `null`. */
export interface ReactionTarget {
  readonly subject: Subject;
  readonly comment: string | null;
}

/** A comment that exists at the tracker: its id, and the URL where people read it. */
export interface PostedComment {
  readonly id: string;
  readonly url: string;
}

/** Result of one poll. `cursor` is passed unchanged to the next poll. */
export interface PollBatch {
  readonly events: readonly WebhookPayload[];
  readonly cursor: string;
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
  /** Longest comment that the platform takes, in characters. The host cuts a longer answer at the end of a paragraph. */
  readonly maxCommentLength?: number;
  /** Verifies the sender on the raw bytes, in constant time. */
  verify(request: WebhookRequest, connection: z.output<Settings>): MaybePromise<VerificationResult>;
  /** Parses an event. It must not throw on an unexpected payload; it names a missing member in `missing_field`. */
  parse(request: WebhookPayload): MaybePromise<SourceEvent>;
  /** Login or id of the account that `connection` posts as; `null` if the platform does not provide it. */
  account(call: CallContext<z.output<Settings>>): Promise<string | null>;
  /** Tests the connection with a request that needs the credential. */
  check(call: CallContext<z.output<Settings>>): Promise<void>;
  /** Posts a comment with `call.key` in its marker. */
  deliver(post: NewComment, call: CallContext<z.output<Settings>>): Promise<PostedComment>;
  /** Finds the comment with `call.key` in its marker; `null` if there is none. The host calls it after a crash or a lost response. */
  find(post: NewComment, call: CallContext<z.output<Settings>>): Promise<PostedComment | null>;
  /**
   * Every comment at the issue that carries `call.key`, oldest first. With `retract`, it lets the host remove the younger of
   * two comments that a frozen replica and its successor have posted.
   */
  findAll?(post: NewComment, call: CallContext<z.output<Settings>>): Promise<readonly PostedComment[]>;
  /** Deletes a comment that `findAll` returned. Succeeds where the comment no longer exists. */
  retract?(post: NewComment, comment: PostedComment, call: CallContext<z.output<Settings>>): Promise<void>;
  /**
   * Replaces the reaction of this account on an issue or comment; `null` removes it. Repeating it changes nothing. Omit it if the
   * platform has no reactions.
   */
  react?(target: ReactionTarget, reaction: Reaction | null, call: CallContext<z.output<Settings>>): Promise<void>;
  /**
   * Replaces the text of a comment that `deliver` posted. Its marker is now that of `call.key`, so that `find` tells whether the
   * edit succeeded. Throws `not_found` if the comment no longer exists.
   */
  update?(post: NewComment, comment: PostedComment, call: CallContext<z.output<Settings>>): Promise<PostedComment>;
  /** Tells what a subject is, and what the ids in `text`, the event's text, are called. Reads only; the host calls it once for each event. */
  describe?(
    about: { readonly subject: Subject; readonly text: string },
    call: CallContext<z.output<Settings>>,
  ): Promise<SubjectDetails>;
  /** Returns the changes in a project since `cursor`, or since `since` (ISO 8601) if `cursor` is `null`, as webhooks would deliver them. */
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
   * What an account is in a project, for events whose payload does not tell. The host caches the answer and never calls it
   * while a webhook waits for its answer. `unknown` if the credential may not read it.
   */
  standing?(query: StandingQuery, call: CallContext<z.output<Settings>>): Promise<EventAuthor["standing"]>;
  /**
   * Compares the platform's webhook that leads to the URL with the events that mappings name; with `apply`, creates it or adds
   * what is missing. The webhook's secret is that of the connection. Throws `unauthorized` if the credential may not read webhooks.
   */
  checkWebhook?(wanted: WantedWebhook, call: CallContext<z.output<Settings>>): Promise<WebhookReport>;
}

export type ToolEffect = "read" | "write";

/** A function that agents can call. */
export interface Tool<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, Settings = never> {
  /** Description from which the model decides whether to call the tool. */
  readonly about: string;
  readonly category?: string;
  readonly effect: ToolEffect;
  /** Whether a write can be repeated without further effect, for example one that sets a description. Default: `false`. */
  readonly idempotent?: boolean;
  /** For a write: with `call.private` it writes where only those can read it who can read internal comments, or throws `unsupported`. */
  readonly keeps_private?: boolean;
  readonly input: I;
  readonly output: O;
  run(input: z.output<I>, call: CallContext<Settings>): MaybePromise<z.input<O>>;
  /** For a write that is not idempotent: finds the result of an earlier `run` with the same `call.key`; `null` if there is none. */
  find?(input: z.output<I>, call: CallContext<Settings>): Promise<z.input<O> | null>;
  /** Everything that `run` with the same `call.key` left at the other side, oldest first. See `Source.findAll`. */
  findAll?(input: z.output<I>, call: CallContext<Settings>): Promise<readonly z.input<O>[]>;
  /** Removes one of what `findAll` returned. Succeeds where it no longer exists. */
  retract?(input: z.output<I>, output: z.input<O>, call: CallContext<Settings>): Promise<void>;
}

/** What a plugin contributes, by kind and name. */
export interface Contributions {
  readonly sources?: Readonly<Record<string, Source>>;
  readonly tools?: Readonly<Record<string, Tool<z.ZodObject, z.ZodType, unknown>>>;
  readonly memories?: Readonly<Record<string, MemoryStore>>;
  readonly knowledge?: Readonly<Record<string, KnowledgeConnector>>;
  readonly queues?: Readonly<Record<string, Queue>>;
  readonly useCases?: Readonly<Record<string, UseCase>>;
  readonly routes?: Readonly<Record<string, Route>>;
  /** Called once when the service stops, in reverse order of setup. */
  dispose?(): MaybePromise<void>;
}

/** The capabilities that the host offers. A plugin receives those that it lists in `needs`. */
export interface Capabilities {
  /** Writes a structured log line, prefixed with the plugin's id. */
  log(message: string, fields?: Readonly<Record<string, Json>>): void;
  /** `fetch`, restricted to the hosts that the plugin declares and those of its connections. Sends a body at most once (see `fetchOnce`). */
  fetch: typeof globalThis.fetch;
  /** Throttles the requests of an account across all replicas, so that they stay within the platform's rate limit. */
  throttle: SharedThrottle;
  /** The database of the host. For built-in plugins only. */
  sql: SqlAccess;
  /** The Redis server of the host. Without one, a plugin that needs it is not loaded. For built-in plugins only. */
  redis: RedisAccess;
  /** The operations of the host that the manifest names. */
  operations: OperationsAccess;
  /** The configured trackers. */
  trackers: TrackersAccess;
  /** Returns the secret that the manifest declares under this name; `null` if the operator has not set it. For a secret with `inject`: a placeholder that the host replaces in requests. */
  secret(name: string): Promise<string | null>;
  /** Returns the embeddings of texts, in the same order. Throws a `PluginError` with the code `unavailable` if the embedding model fails. */
  embed(texts: readonly string[]): Promise<number[][]>;
  /** Dimension, metric and model of the embeddings of memories. */
  vectors: VectorSettings;
  /** Runs one of the plugin's `offloaded` functions outside of the host's event loop, with a deadline. */
  offload: Offload;
}
/** Name of a capability, as listed in `needs`. */
export type CapabilityName = keyof Capabilities;
/** Argument of `setup`: the requested capabilities and the parsed configuration. */
export type SetupContext<C, N extends CapabilityName, F extends OffloadedFunctions = OffloadedFunctions> = Readonly<
  Pick<Capabilities, Exclude<N, "offload">> & { config: C } & ("offload" extends N ? { offload: Offload<F> } : unknown)
>;

/** Argument of `definePlugin`. */
export interface PluginDefinition<
  C extends z.ZodObject,
  N extends CapabilityName,
  F extends OffloadedFunctions = OffloadedFunctions,
> {
  /** Id of lower-case letters, digits and `-`. It is the provider of the plugin's tools. */
  readonly id: string;
  /** Semantic version of the plugin. */
  readonly version: string;
  /** Range of compatible SDK versions, for example `^0.1.0`. `*` is rejected. */
  readonly sdk: string;
  /** One sentence about the plugin. */
  readonly about?: string;
  /** Schema of the plugin's configuration. */
  readonly config: C;
  /** Capabilities that `setup` receives. The operator sees them. */
  readonly needs: readonly N[];
  /** Hosts that `fetch` may reach, in addition to those in the settings of the connections. */
  readonly hosts?: readonly string[];
  /** Functions for the capability `offload`. */
  readonly offloaded?: F;
  setup(context: SetupContext<z.output<C>, N, F>): MaybePromise<Contributions>;
}
