import type { Json, MaybePromise } from "./contract.ts";

/** Calls the host's own operations by id, for example `projects.create`, as a caller of its API would. */
export interface OperationsAccess {
  /** Resolves with the output; a list is `{items, total}`. Throws a `PluginError`: `conflict`, `not_found`, `invalid_input` … */
  call(id: string, input: Readonly<Record<string, unknown>>): Promise<Json>;
}

/** An issue that was made at a tracker. */
export interface CreatedIssue {
  readonly key: string;
  readonly url: string;
}

/** The trackers of the environment, for use cases. Each call throws a `PluginError` where the tracker refuses. */
export interface TrackersAccess {
  /** Names of the configured sources, in their usual order. */
  configured(): readonly string[];
  /**
   * Makes an issue and lets its creation run what is mapped to it, although Signalbox itself made it. `null`: this source
   * cannot, or writes at trackers are turned off.
   */
  createIssue(source: string, issue: NewIssue, call: { key: string; signal: AbortSignal }): Promise<CreatedIssue | null>;
  /** The source's own id of a project that people know by another name; the name itself where they are the same. */
  projectId(source: string, name: string, call: { key: string; signal: AbortSignal }): Promise<string>;
  /** `false`: this source cannot, or writes are turned off. */
  closeIssue(
    source: string,
    issue: { project: string; key: string },
    call: { key: string; signal: AbortSignal },
  ): Promise<boolean>;
}

export interface NewIssue {
  readonly project: string;
  readonly title: string;
  /** Markdown. */
  readonly body: string;
}

export interface UseCaseRequest {
  readonly pm_agent_id?: string | undefined;
  readonly project_context?: Readonly<Record<string, string>> | undefined;
  readonly source?: string | undefined;
  readonly project_id?: string | undefined;
}
export interface UseCaseResult {
  readonly status: string;
  readonly project: { readonly project_id: string; readonly name: string; readonly id: number };
  readonly agents_verified: readonly string[];
  readonly tracker_issue: CreatedIssue | null;
  readonly next_steps: readonly string[];
}
export interface UseCaseContext {
  readonly signal: AbortSignal;
  /** What was saved last; `null` at first, and after a teardown. */
  readonly state: Json;
  /** Keeps it; durable when it resolves. What was made before a crash must be found by it again. */
  save(state: Json): Promise<void>;
}

/** A demonstration that sets itself up with what the host offers to everybody. */
export interface UseCase {
  readonly about: string;
  /** Called again it answers what stands, and goes on where an earlier call broke off. */
  setup(request: UseCaseRequest, call: UseCaseContext): Promise<UseCaseResult>;
  /** Removes what the setup made, however far it came; called again it finds nothing to do. */
  teardown(call: UseCaseContext): MaybePromise<{ status: string; project_deleted: boolean; issue_closed: boolean }>;
}
