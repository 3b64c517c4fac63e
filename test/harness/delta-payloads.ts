import { type DeltaIssue, deltaIssueHook, deltaUser } from "../../examples/demo/delta-payload.ts";

/**
 * Payloads in the platform's format, including members that are not read: https://developers.plane.so/dev-tools/intro-webhooks
 */
const at = "2026-01-05T10:00:00.123456Z";
const later = "2026-01-06T11:30:00.654321Z";
export const ann = deltaUser("22222222-0000-4000-8000-000000000002", "ann");
const states = {
  Todo: { id: "11111111-0000-4000-8000-000000000001", group: "unstarted" },
  "In Progress": { id: "11111111-0000-4000-8000-000000000002", group: "started" },
  Done: { id: "11111111-0000-4000-8000-000000000003", group: "completed" },
};
export type State = keyof typeof states;

const about = (project: string, id: string, state: State, more: Partial<DeltaIssue> = {}): DeltaIssue => ({
  id,
  project,
  name: "Login fails",
  description_html: "<p>It <strong>fails</strong> since Monday.</p>",
  actor: ann,
  state: { name: state, ...states[state] },
  created_at: at,
  ...more,
});

export const issueCreated = (project: string, id: string) => deltaIssueHook(about(project, id, "Todo"), "created");

/** A move from one state to another, by the states' names, or by their ids. */
export function issueMoved(project: string, id: string, from: State, to: State, by: "name" | "id" = "name") {
  const change =
    by === "name"
      ? { field: "state", old_value: from, new_value: to }
      : { field: "state_id", old_value: states[from].id, new_value: states[to].id };
  return deltaIssueHook(about(project, id, to, { updated_at: later }), "updated", change);
}

export const issueRenamed = (project: string, id: string, state: State) =>
  deltaIssueHook(about(project, id, state, { updated_at: later }), "updated", {
    field: "name",
    old_value: "Login",
    new_value: "Login fails",
  });

export function commented(project: string, issue: string, comment_html = "<p>Any <em>news</em> on this?</p>") {
  const { webhook_id, workspace_id, activity } = issueCreated(project, issue);
  const data = {
    id: "33333333-0000-4000-8000-000000000001",
    created_at: later,
    updated_at: later,
    edited_at: null,
    comment_html,
    comment_stripped: "Any news on this?",
    comment_json: {},
    attachments: [],
    access: "INTERNAL",
    external_source: null,
    external_id: null,
    created_by: ann.id,
    updated_by: ann.id,
    project,
    workspace: workspace_id,
    issue,
    actor: ann.id,
    parent: null,
    is_member: true,
  };
  return { event: "issue_comment", action: "created", webhook_id, workspace_id, data, activity };
}
