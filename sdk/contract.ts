import type { z } from "zod";
import type { KnowledgeConnector } from "./knowledge.ts";
import type { MemoryStore, RedisAccess, SqlAccess, VectorSettings } from "./memory.ts";
import type { Offload, OffloadedFunctions } from "./offload.ts";
import type { SharedThrottle } from "./pace-access.ts";
import type { Queue } from "./queue.ts";
import type { Route } from "./route.ts";
import type { CreatedIssue, NewIssue, OperationsAccess, TrackersAccess, UseCase } from "./use-case.ts";

/**
 * What crosses the boundary between the host and a plugin. All of it is JSON, except bytes (a `Uint8Array` in one
 * process, base64 between two) and the deadline (an `AbortSignal`), so the same plugin runs in the host's process
 * or in a sandboxed one of its own.
 */
export type MaybePromise<T> = T | Promise<T>;
export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };

/** A webhook as it came in. Header names are lower-case; a header sent twice is joined by `, `. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** The raw bytes: signatures are checked on these, never on parsed JSON. */
  readonly body: Uint8Array;
}

/** A verified webhook. `payload` is the body, parsed; nothing in it has been checked. */
export interface WebhookPayload {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Json;
}

/** The proof in a webhook's header: `hmac-sha256` of the raw bytes, as hex or base64, or the secret itself. */
export interface SignatureScheme {
  readonly type: "hmac-sha256" | "token";
  /** Lower case. */
  readonly header: string;
  /** What stands before the value, such as `sha256=`. */
  readonly prefix?: string;
  /** Member of `connection` that holds the secret; while it is not set, every webhook is refused. */
  readonly secret: string;
}

export type VerificationResult = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** The issue, pull request or merge request that an event is about, as the platform addresses it. */
export interface Subject {
  /** For alpha `owner/repo`; what the tools take as `project`. */
  readonly project: string;
  /** Number or key of the issue; what the tools take as `issue`. */
  readonly issue: string;
}

/** A platform's event in the shape that every source shares. */
export interface SourceEvent {
  /** The platform's id of this delivery; the same id again is the same delivery. `null` where it sends none. */
  readonly delivery_id: string | null;
  /** Event name and action exactly as the source event mappings spell them, for example `issues` and `opened`. */
  readonly event_name: string;
  readonly action: string | null;
  readonly subject: Subject | null;
  /** Login or account id of who caused it, comparable with `Source.account`. */
  readonly actor: string | null;
  /** What the agent reads, Markdown: title, body, comment, states. It is data, never instructions. */
  readonly text: string;
  /** What was written carries the marker of something that Signalbox posted. See `hasMarker`. */
  readonly marked: boolean;
  /** When it happened at the platform, ISO 8601. */
  readonly occurred_at: string | null;
  /** The member that this event needs and the payload lacks, for example `issue.number`; else `null`. */
  readonly missing_field: string | null;
  /**
   * Names the change itself, the same whether a webhook or a poll tells of it: `issues/closed/owner/repo#12@<when>`.
   * A polled event whose key was seen is a duplicate. Two webhooks may share one (two labels in one second), so webhooks
   * are told apart by `delivery_id` alone. `null` or absent: the source cannot tell.
   */
  readonly change_key?: string | null;
}

/** Settings and credentials of one account at a platform, as the plugin's `connection` schema parsed them. */
export interface CallContext<Settings = Record<string, unknown>> {
  /** Aborted at the deadline of the call. */
  readonly signal: AbortSignal;
  /** Settings of the account in whose name the call is made; `{}` for plugins without a source. */
  readonly connection: Settings;
  /** Stable over every repetition of this very call, unique among all others: put it into what is written. */
  readonly key: string;
}

/** What to post: Markdown, at an issue. */
export interface NewComment {
  readonly subject: Subject;
  readonly body: string;
}

/** What stands at the tracker after a post. */
export interface PostedComment {
  readonly id: string;
  readonly url: string;
}

/** What one poll brought. `cursor` is handed to the next poll as it is. */
export interface PollBatch {
  readonly events: readonly WebhookPayload[];
  readonly cursor: string;
}

export interface Source<Settings extends z.ZodObject = z.ZodObject> {
  /** One sentence: which platform, which API version. */
  readonly about: string;
  /** Settings and credentials of one account. Members that hold a secret are named in `secrets`. */
  readonly connection: Settings;
  readonly secrets: readonly (keyof z.output<Settings> & string)[];
  /** The settings without which nothing can be posted; while one is absent the source counts as not configured. */
  readonly required: readonly (keyof z.output<Settings> & string)[];
  /**
   * How a webhook proves itself, where data can say it. The host then checks webhooks itself, also while a sandboxed plugin
   * is away, and keeps them until it can read them. Without it, webhooks are answered 503 meanwhile.
   */
  readonly signature?: SignatureScheme;
  /** Decides on the raw bytes whether the sender is who it says. Constant time. */
  verify(request: WebhookRequest, connection: z.output<Settings>): MaybePromise<VerificationResult>;
  /** Reads an event. Never throws on a strange payload: it names in `missing_field` what is missing. */
  parse(request: WebhookPayload): MaybePromise<SourceEvent>;
  /** Login or id of the account that `connection` posts as; `null` where the platform does not tell. */
  account(call: CallContext<z.output<Settings>>): Promise<string | null>;
  /** Tries the connection: reads something that needs the credential. Throws a `PluginError` when it does not work. */
  check(call: CallContext<z.output<Settings>>): Promise<void>;
  /** Posts a comment that carries `call.key` as its marker. */
  deliver(post: NewComment, call: CallContext<z.output<Settings>>): Promise<PostedComment>;
  /** Looks for the comment that carries `call.key`; how a post of unknown outcome is settled after a crash. */
  find(post: NewComment, call: CallContext<z.output<Settings>>): Promise<PostedComment | null>;
  /**
   * Every comment at the issue that carries `call.key`, oldest first. With `retract`, it lets the host remove the younger of
   * two comments that a frozen replica and its successor have posted.
   */
  findAll?(post: NewComment, call: CallContext<z.output<Settings>>): Promise<readonly PostedComment[]>;
  /** Deletes a comment that `findAll` returned. Succeeds where the comment no longer exists. */
  retract?(post: NewComment, comment: PostedComment, call: CallContext<z.output<Settings>>): Promise<void>;
  /** Reads what changed in a project since `cursor` (absent: since `since`, ISO 8601) as webhooks would have told it. */
  poll?(
    from: { project: string; since: string; cursor: string | null },
    call: CallContext<z.output<Settings>>,
  ): Promise<PollBatch>;
  /** Makes an issue. `event`: its creation as the webhook tells of it, or `null` where that cannot be said. */
  createIssue?(
    issue: NewIssue,
    call: CallContext<z.output<Settings>>,
  ): Promise<CreatedIssue & { readonly event: WebhookPayload | null }>;
  /** The platform's own id of a project that people know by another name; absent: people use the id. */
  projectId?(name: string, call: CallContext<z.output<Settings>>): Promise<string>;
  /** Closes an issue that `createIssue` made, by its `key`. */
  closeIssue?(issue: { project: string; key: string }, call: CallContext<z.output<Settings>>): Promise<void>;
}

export type ToolEffect = "read" | "write";

export interface Tool<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, Settings = never> {
  /** What the model reads to decide whether to call it. */
  readonly about: string;
  readonly category?: string;
  readonly effect: ToolEffect;
  /** A write that may be repeated without harm, such as setting a description. */
  readonly idempotent?: boolean;
  readonly input: I;
  readonly output: O;
  run(input: z.output<I>, call: CallContext<Settings>): MaybePromise<z.input<O>>;
  /** For a write that is not idempotent: what `run` with the same `call.key` left at the other side, or `null`. */
  find?(input: z.output<I>, call: CallContext<Settings>): Promise<z.input<O> | null>;
  /** Everything that `run` with the same `call.key` left at the other side, oldest first. See `Source.findAll`. */
  findAll?(input: z.output<I>, call: CallContext<Settings>): Promise<readonly z.input<O>[]>;
  /** Removes one of what `findAll` returned. Succeeds where it no longer exists. */
  retract?(input: z.output<I>, output: z.input<O>, call: CallContext<Settings>): Promise<void>;
}

/** What a plugin adds, by kind and name. */
export interface Contributions {
  readonly sources?: Readonly<Record<string, Source>>;
  readonly tools?: Readonly<Record<string, Tool<z.ZodObject, z.ZodType, unknown>>>;
  readonly memories?: Readonly<Record<string, MemoryStore>>;
  readonly knowledge?: Readonly<Record<string, KnowledgeConnector>>;
  readonly queues?: Readonly<Record<string, Queue>>;
  readonly useCases?: Readonly<Record<string, UseCase>>;
  readonly routes?: Readonly<Record<string, Route>>;
  /** Called once on a clean stop, in reverse order of setup. */
  dispose?(): MaybePromise<void>;
}

/** All that a plugin may touch. Nothing is global. */
export interface Capabilities {
  /** Structured log line, prefixed with the plugin's id. */
  log(message: string, fields?: Readonly<Record<string, Json>>): void;
  /** `fetch`, bound to the hosts that the plugin declares and those of its connections, with the call's deadline. Sends a body at most once (see `fetchOnce`). */
  fetch: typeof globalThis.fetch;
  /** One pace per account for all replicas: writes go out no faster than the platform takes them. */
  throttle: SharedThrottle;
  /** The host's database. Built-in plugins only. */
  sql: SqlAccess;
  /** The host's Redis; where there is none, a plugin that needs it is not set up. Built-in plugins only. */
  redis: RedisAccess;
  /** The host's own operations; those that the manifest names. */
  operations: OperationsAccess;
  /** The configured trackers. */
  trackers: TrackersAccess;
  /** The plugin's own credential of this name, as its manifest declares it; `null` where the operator set none. Of one marked `inject` a stand-in, which the host replaces in requests. */
  secret(name: string): Promise<string | null>;
  /** Vectors of texts, by the host's embedder; in the order of the texts. Throws a `PluginError` `unavailable` while it is down. */
  embed(texts: readonly string[]): Promise<number[][]>;
  /** Length, metric and model of the vectors that memories are found by. */
  vectors: VectorSettings;
  /** Runs one of the plugin's `offloaded` functions outside of the host's event loop, with a deadline. */
  offload: Offload;
}
export type CapabilityName = keyof Capabilities;
export type SetupContext<C, N extends CapabilityName, F extends OffloadedFunctions = OffloadedFunctions> = Readonly<
  Pick<Capabilities, Exclude<N, "offload">> & { config: C } & ("offload" extends N ? { offload: Offload<F> } : unknown)
>;

export interface PluginDefinition<
  C extends z.ZodObject,
  N extends CapabilityName,
  F extends OffloadedFunctions = OffloadedFunctions,
> {
  /** Lower-case letters, digits and `-`; the provider of its tools. */
  readonly id: string;
  /** Semantic version of the plugin; recorded with every run. */
  readonly version: string;
  /** Range of sdk versions that it was written for, for example `^0.1.0`. `*` is refused. */
  readonly sdk: string;
  readonly about?: string;
  readonly config: C;
  /** The capabilities that `setup` is handed; shown to the operator. */
  readonly needs: readonly N[];
  /** Hosts that `fetch` may reach, beside those of the connections' own addresses. */
  readonly hosts?: readonly string[];
  /** Functions for the capability `offload`. */
  readonly offloaded?: F;
  setup(context: SetupContext<z.output<C>, N, F>): MaybePromise<Contributions>;
}
