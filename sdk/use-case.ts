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
  readonly key: string;
  readonly url: string;
}

/** The configured trackers, for use cases. Calls throw a `PluginError` if the tracker rejects the request. */
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
  readonly project: string;
  readonly title: string;
  /** Markdown. */
  readonly body: string;
}

/** Input of a setup: the request of `POST /api/use-cases/{use_case}/setup`. */
export interface UseCaseRequest {
  readonly pm_agent_id?: string | undefined;
  readonly project_context?: Readonly<Record<string, string>> | undefined;
  readonly source?: string | undefined;
  readonly project_id?: string | undefined;
}
/** Output of a setup. */
export interface UseCaseResult {
  readonly status: string;
  readonly project: { readonly project_id: string; readonly name: string; readonly id: number };
  readonly agents_verified: readonly string[];
  readonly tracker_issue: CreatedIssue | null;
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
  readonly about: string;
  /** Creates everything that the use case needs. Repeated, it resumes an interrupted setup and returns the existing one. */
  setup(request: UseCaseRequest, call: UseCaseContext): Promise<UseCaseResult>;
  /** Deletes everything that a complete or interrupted setup created. Repeated, it has no effect. */
  teardown(call: UseCaseContext): MaybePromise<{ status: string; project_deleted: boolean; issue_closed: boolean }>;
}
