import type { SourceEvent, Subject, WebhookPayload } from "../contract.ts";

/** One check; throws an `AssertionError` that says what the plugin did and what would be right. */
export interface TestCase {
  readonly name: string;
  readonly run: () => Promise<void>;
  /** It waits: for faults to pass, a lease to end, something to expire. `signalbox plugin dev` leaves it out. */
  readonly slow?: boolean;
}

/** What goes wrong at the tracker, from the next request on. */
export interface TrackerFault {
  /** `status`: an answer of that status. `hang`: none. `truncate`: a good answer cut off half way. `drop`: the connection is closed. */
  readonly kind: "status" | "hang" | "truncate" | "drop";
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of a `status`; JSON in the platform's own error shape, or whatever a proxy would send. */
  readonly body?: string;
  /** The request is carried out first: the caller cannot know. */
  readonly after?: boolean;
  /** How many requests; absent: all until `heal`. */
  readonly times?: number;
  /** Only requests that write. */
  readonly writes?: boolean;
}

/** A small stateful server that speaks as the platform does, on loopback. */
export interface TestTracker {
  readonly url: string;
  /** Bodies of the comments that stand at the issue, oldest first, as the tracker keeps them. */
  comments(subject: Subject): readonly string[];
  /** Requests that changed something, so far; a test sees repetitions by it. */
  writes(): number;
  fault(fault: TrackerFault): void;
  heal(): void;
  close(): Promise<void>;
}

export interface GoldenWebhook extends WebhookPayload {
  readonly name: string;
  /** The members that must be so; the others are only checked for their kind. */
  readonly expect: Partial<SourceEvent>;
}

export interface SourceFixtures {
  /** Name of the source; absent: the plugin's id. */
  readonly source?: string;
  /** The plugin's own config. */
  readonly config?: Record<string, unknown>;
  /** Settings of a connection to a tracker at `url`, with every credential that posting needs. */
  readonly connection: (url: string) => Record<string, unknown>;
  /** How the platform shows who it is; `null` where it does not. `settings` are added to those of the connection. */
  readonly signature: null | {
    readonly settings: Record<string, unknown>;
    /** Headers of a webhook with this body. */
    readonly sign: (body: Uint8Array) => Record<string, string>;
    /** A shared token says nothing about the body; a signature does. */
    readonly covers_body: boolean;
  };
  readonly golden: readonly GoldenWebhook[];
  /** Header that carries the id of the delivery; `null` where the platform sends none. */
  readonly delivery_header: string | null;
  /** The webhook that tells of a comment with this body. */
  readonly comment_event: (body: string) => WebhookPayload;
  /** The webhook of something that the account of `connection` did itself; absent where the platform does not tell who did. */
  readonly own_event?: WebhookPayload;
  /** An issue that exists at the tracker. */
  readonly subject: Subject;
  /** The platform knows no comment markers; it finds posts by another field. Then `marked` is not looked at. */
  readonly unmarked?: boolean;
  /** Starts a new one for each case that needs it. */
  readonly tracker: () => Promise<TestTracker>;
}

export interface ToolSample {
  /** Inputs that work, at the tracker of `tracker()`. */
  readonly inputs: readonly Record<string, unknown>[];
  /** Inputs that the schema or the tool must refuse with `invalid_input`. */
  readonly refused?: readonly unknown[];
  /** It calls nobody, although others of the plugin do: no faults of the other side are tried. */
  readonly offline?: boolean;
}

export interface ToolFixtures {
  readonly config?: Record<string, unknown>;
  /** For every tool of the plugin. */
  readonly tools: Readonly<Record<string, ToolSample>>;
  /** These three are absent for tools that call nobody. */
  readonly connection?: (url: string) => Record<string, unknown>;
  /** Values in it that must never be shown. */
  readonly secrets?: readonly string[];
  readonly tracker?: () => Promise<TestTracker>;
}
