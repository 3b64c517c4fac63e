import {
  type BetaIssue,
  betaIssue,
  betaIssueHook,
  betaLabel,
  betaProject,
  betaTime,
  betaUser,
} from "../../examples/demo/beta-payload.ts";

/**
 * Payloads in the platform's format, including members that are not read:
 * https://docs.gitlab.com/user/project/integrations/webhook_events/
 */
const at = "2026-01-05T10:00:00Z";
const later = "2026-01-06T11:30:00Z";

const about = (project: string, iid: number, more: Partial<BetaIssue> = {}): BetaIssue => ({
  project,
  iid,
  title: "Login fails",
  description: "It **fails** since Monday.",
  username: "ann",
  created_at: at,
  ...more,
});
const change = (previous: unknown, current: unknown) => ({ previous, current });
const touched = { updated_at: change(betaTime(at), betaTime(later)) };

export const issueOpened = (project: string, iid: number) => betaIssueHook(about(project, iid), "open");

export const issueClosed = (project: string, iid: number) =>
  betaIssueHook(about(project, iid, { state: "closed", updated_at: later }), "close", {
    ...touched,
    closed_at: change(null, betaTime(later)),
    state_id: change(1, 2),
  });

export const issueReopened = (project: string, iid: number) =>
  betaIssueHook(about(project, iid, { updated_at: later }), "reopen", {
    ...touched,
    closed_at: change(betaTime(at), null),
    state_id: change(2, 1),
  });

/** Adds or removes a label. */
export const issueLabeled = (project: string, iid: number, label = "backend") =>
  betaIssueHook(about(project, iid, { updated_at: later, labels: ["bug", label] }), "update", {
    ...touched,
    labels: change([betaLabel("bug")], [betaLabel("bug"), betaLabel(label)]),
  });

function mergeRequestAttributes(project: ReturnType<typeof betaProject>, iid: number) {
  const [source, target] = [project, project];
  const commit = { id: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", message: "Fix the login", title: "Fix the login" };
  const author = { name: "Ann", email: "ann@example.com" };
  const last_commit = { ...commit, timestamp: at, url: `${project.web_url}/-/commit/${commit.id}`, author };
  const empty = ["head_pipeline_id", "last_edited_at", "last_edited_by_id", "merge_commit_sha", "merge_error", "merge_user_id"];
  const none = ["milestone_id", "updated_by_id", "human_time_change", "human_time_estimate", "human_total_time_spent"];
  return {
    ...Object.fromEntries([...empty, ...none].map((name) => [name, null])),
    assignee_id: null,
    author_id: 5,
    created_at: betaTime(at),
    updated_at: betaTime(at),
    description: "Mends the login.",
    draft: false,
    work_in_progress: false,
    id: 7000 + iid,
    iid,
    merge_params: { force_remove_source_branch: "1" },
    merge_status: "checking",
    detailed_merge_status: "checking",
    merge_when_pipeline_succeeds: false,
    prepared_at: null,
    source_branch: "fix-login",
    source_project_id: 77,
    target_branch: "main",
    target_project_id: 77,
    state_id: 1,
    state: "opened",
    title: "Mend the login",
    time_estimate: 0,
    total_time_spent: 0,
    time_change: 0,
    last_commit,
    url: `${project.web_url}/-/merge_requests/${iid}`,
    source,
    target,
    assignee_ids: [],
    reviewer_ids: [6],
    labels: [],
    blocking_discussions_resolved: true,
    first_contribution: false,
    action: "open",
  };
}

export function mergeRequestOpened(path: string, iid: number) {
  const project = betaProject(path);
  const object_attributes = mergeRequestAttributes(project, iid);
  const { name, url, description, homepage } = project;
  const changes = { merge_status: change("preparing", "checking"), author_id: change(null, 5), iid: change(null, iid) };
  return {
    object_kind: "merge_request",
    event_type: "merge_request",
    user: betaUser("ann"),
    project,
    object_attributes,
    labels: [],
    changes,
    repository: { name, url, description, homepage },
    reviewers: [betaUser("signalbox-bot")],
  };
}

/** A comment on an issue. */
export function noteWritten(project: string, iid: number, note = "Any news on this?") {
  const { object_kind: _, event_type: __, labels: ___, changes: ____, assignees: _____, ...hook } = issueOpened(project, iid);
  const url = `https://gitlab.example/${project}/-/issues/${iid}#note_31`;
  const empty = ["change_position", "commit_id", "line_code", "original_position", "position", "resolved_at", "st_diff"];
  const object_attributes = {
    ...Object.fromEntries(
      [...empty, "resolved_by_id", "resolved_by_push", "updated_by_id", "attachment"].map((one) => [one, null]),
    ),
    author_id: 5,
    created_at: betaTime(later),
    discussion_id: "c4a1",
    id: 31,
    internal: false,
    note,
    noteable_id: 9000 + iid,
    noteable_type: "Issue",
    project_id: 77,
    system: false,
    type: null,
    updated_at: betaTime(later),
    description: note,
    url,
    action: "create",
  };
  const issue = betaIssue(about(project, iid));
  return { ...hook, object_kind: "note", event_type: "note", project_id: 77, object_attributes, issue };
}
