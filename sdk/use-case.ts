import type { Json, MaybePromise } from "./source-event.ts";

/** The person on whose behalf an operation is called. */
export interface OperationOptions {
  /**
   * The person who decided, as the plugin knows them, for example `U024BE7LH`. The audit log and `decided_by` show it after the
   * id of the plugin.
   */
  readonly on_behalf_of?: string;
}

/** Calls operations of the host by id, for example `projects.create`, like a client of the API. */
export interface OperationsAccess {
  /** Returns the output; a list is `{items, total}`. Throws a `PluginError`, for example `conflict`, `not_found` or `invalid_input`. */
  call(id: string, input: Readonly<Record<string, unknown>>, options?: OperationOptions): Promise<Json>;
}

/** An issue that was created at a tracker. */
export interface CreatedIssue {
  /** Number or key of the issue, as in `Subject.issue`. */
  readonly key: string;
  /** URL where people read it. */
  readonly url: string;
}

/**
 * The configured trackers, for use cases. `source` is the name of a source, `key` an idempotency key: the same for every retry of a call.
 * Calls throw a `PluginError` if the tracker rejects the request.
 */
export interface TrackersAccess {
  /** Names of the configured sources, in a fixed order. */
  configured(): readonly string[];
  /**
   * Creates an issue and dispatches its creation as an event, although Signalbox itself created it. Returns `null` if the
   * source cannot create issues or writes to trackers are disabled.
   */
  createIssue(source: string, issue: NewIssue, call: { key: string; signal: AbortSignal }): Promise<CreatedIssue | null>;
  /** Returns the platform's id of a project that users know by another name, or the name if they are the same. */
  projectId(source: string, name: string, call: { key: string; signal: AbortSignal }): Promise<string>;
  /** Closes an issue. Returns `false` if the source cannot close issues or writes to trackers are disabled. */
  closeIssue(
    source: string,
    issue: { project: string; key: string },
    call: { key: string; signal: AbortSignal },
  ): Promise<boolean>;
}

/** An issue to create. */
export interface NewIssue {
  /** Project at the platform, as in `Subject.project`. */
  readonly project: string;
  readonly title: string;
  /** Markdown. */
  readonly body: string;
}

/** Input of a setup: the request of `POST /api/use-cases/{use_case}/setup`. */
export interface UseCaseRequest {
  /** Id of the agent for the requirements analysis. */
  readonly pm_agent_id?: string | undefined;
  /** Facts about the project, by name. */
  readonly project_context?: Readonly<Record<string, string>> | undefined;
  /** Name of the source to use. */
  readonly source?: string | undefined;
  /** Project at the platform, for the sample issue. */
  readonly project_id?: string | undefined;
}
/** Output of a setup. */
export interface UseCaseResult {
  /** State of the setup in one word, for example `ready`. */
  readonly status: string;
  /** The project in Signalbox: its `id`, and its `project_id` at the platform. */
  readonly project: { readonly project_id: string; readonly name: string; readonly id: number };
  /** Ids of the agents that exist, as the use case requires. */
  readonly agents_verified: readonly string[];
  /** The sample issue; `null` if none was created. */
  readonly tracker_issue: CreatedIssue | null;
  /** What the operator does next, one sentence each. */
  readonly next_steps: readonly string[];
}
/** Context of one call to a use case. */
export interface UseCaseContext {
  readonly signal: AbortSignal;
  /** State that was last saved; `null` before the first setup and after a teardown. */
  readonly state: Json;
  /** Saves the state durably. After a crash the state must be sufficient to find everything that was created. */
  save(state: Json): Promise<void>;
}

/** A workflow that sets itself up with the operations and trackers of the host. */
export interface UseCase {
  /** One sentence that says what the use case does. */
  readonly about: string;
  /** Creates everything that the use case needs. Repeated, it resumes an interrupted setup and returns the existing one. */
  setup(request: UseCaseRequest, call: UseCaseContext): Promise<UseCaseResult>;
  /**
   * Deletes everything that a complete or interrupted setup created. Repeated, it has no effect. `status`: `torn_down`, or
   * `nothing_to_do` without a setup.
   */
  teardown(call: UseCaseContext): MaybePromise<{ status: string; project_deleted: boolean; issue_closed: boolean }>;
}
