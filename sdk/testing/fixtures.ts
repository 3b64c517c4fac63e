import type { ReactionTarget } from "../source.ts";
import type { SourceEvent, Subject, WebhookPayload } from "../source-event.ts";

/** One case of a suite. `run` throws an `AssertionError` that says what the plugin did and what was expected. */
export interface TestCase {
  readonly name: string;
  readonly run: () => Promise<void>;
  /** Whether the case waits, for example for a lease to end. `signalbox plugin dev` skips it. */
  readonly slow?: boolean;
}

/** A fault of a simulated tracker, from the next request on. */
export interface TrackerFault {
  /** `status`: a response with that status. `hang`: no response. `truncate`: a truncated response. `drop`: the connection is closed. */
  readonly kind: "status" | "hang" | "truncate" | "drop";
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body for `status`: an error of the platform in JSON, or the text of a proxy. */
  readonly body?: string;
  /** Whether the tracker processes the request before the fault. */
  readonly after?: boolean;
  /** Number of affected requests. Default: all until `heal`. */
  readonly times?: number;
  /** Whether only writes are affected. */
  readonly writes?: boolean;
  /** Only requests whose path matches are affected. Default: all. */
  readonly path?: RegExp;
}

/** A small stateful server on loopback that implements the API of the platform. */
export interface TestTracker {
  readonly url: string;
  /** Bodies of the comments on an issue, oldest first, as the tracker stores them. */
  comments(subject: Subject): readonly string[];
  /** The reactions on an issue or comment. Required if the source has `react`. */
  reactions?(target: ReactionTarget): readonly string[];
  /** Bodies of the comments that only members can read. Omit it if the platform has none; the source must then refuse to post them. */
  privateComments?(subject: Subject): readonly string[];
  /** Number of requests so far that changed something. Tests detect repeated writes with it. */
  writes(): number;
  fault(fault: TrackerFault): void;
  heal(): void;
  close(): Promise<void>;
}

/** A webhook with the event that `parse` must return for it. */
export interface GoldenWebhook extends WebhookPayload {
  readonly name: string;
  /** Members that must have these values. Only the type of the others is checked. If `text` is a string, it is compared with the joined parts. */
  readonly expect: Partial<SourceEvent>;
}

/** Input of `testSource`. */
export interface SourceFixtures {
  /** Name of the source. Default: the id of the plugin. */
  readonly source?: string;
  /** Configuration of the plugin. */
  readonly config?: Record<string, unknown>;
  /**
   * Settings of a connection to a tracker at `url`, with all credentials that posting requires. A platform with one address for
   * everybody ignores `url`: requests to the hosts in `definePlugin` go to the tracker of the case.
   */
  readonly connection: (url: string) => Record<string, unknown>;
  /** How the platform signs webhooks; `null` if it does not. `settings` are added to those of the connection. */
  readonly signature: null | {
    readonly settings: Record<string, unknown>;
    /** Headers of a webhook with this body. */
    readonly sign: (body: Uint8Array) => Record<string, string>;
    /** Whether the signature covers the body. A shared token does not. */
    readonly covers_body: boolean;
  };
  readonly golden: readonly GoldenWebhook[];
  /** Header with the id of the delivery; `null` if the platform sends none. */
  readonly delivery_header: string | null;
  /** Builds the webhook for a comment with this body. */
  readonly comment_event: (body: string) => WebhookPayload;
  /** A webhook caused by the account of `connection`. Omit it if the platform does not send the actor. */
  readonly own_event?: WebhookPayload;
  /** Deliveries with their repetitions as the platform sends them, other headers included. */
  readonly repetitions?: readonly { readonly first: WebhookPayload; readonly again: WebhookPayload }[];
  /** One webhook for each payload format of the platform, each with an author. */
  readonly envelopes?: readonly WebhookPayload[];
  /** Like `comment_event`, for all other places where people can comment: a review, a diff, a commit. */
  readonly comment_places?: readonly ((body: string) => WebhookPayload)[];
  /** A webhook about something that only members can see. Omit it if the platform has none. */
  readonly private_event?: WebhookPayload;
  /** An issue that exists in the tracker. */
  readonly subject: Subject;
  /** Whether the platform identifies posts without a marker. `marked` is then not checked. Default: `false`. */
  readonly unmarked?: boolean;
  /** Starts a simulated tracker. Called once for each case that needs one. */
  readonly tracker: () => Promise<TestTracker>;
}

/** Sample inputs of a tool. */
export interface ToolSample {
  /** Valid inputs for the tracker of `tracker()`. */
  readonly inputs: readonly Record<string, unknown>[];
  /** Inputs that the schema or the tool must reject with `invalid_input`. */
  readonly refused?: readonly unknown[];
  /** Whether the tool sends no requests, so that no faults are tested. Default: `false`. */
  readonly offline?: boolean;
}

/** Input of `testTools`. */
export interface ToolFixtures {
  readonly config?: Record<string, unknown>;
  /** One sample for each tool of the plugin. */
  readonly tools: Readonly<Record<string, ToolSample>>;
  /** Settings of a connection to a tracker at `url`. Omit `connection`, `secrets` and `tracker` if no tool sends requests. */
  readonly connection?: (url: string) => Record<string, unknown>;
  /** Values in the connection that must not appear in any output. */
  readonly secrets?: readonly string[];
  readonly tracker?: () => Promise<TestTracker>;
}
