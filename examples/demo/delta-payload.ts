const workspace = "5d2f5e0a-0c4d-4e1b-9a55-000000000001";

export const deltaUser = (id: string, display_name: string) => ({
  id,
  first_name: display_name,
  last_name: "",
  email: `${display_name}@example.com`,
  avatar: "",
  avatar_url: null,
  display_name,
});

export interface DeltaIssue {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly description_html: string;
  readonly state: { readonly id: string; readonly name: string; readonly group: string };
  readonly actor: ReturnType<typeof deltaUser>;
  /** ISO 8601. */
  readonly created_at: string;
  readonly updated_at?: string;
}

/** An issue as webhooks contain it. */
export function deltaIssue(issue: DeltaIssue) {
  const { id, project, name, description_html, state, actor, created_at, updated_at = created_at } = issue;
  const empty = [
    "parent",
    "start_date",
    "target_date",
    "completed_at",
    "archived_at",
    "point",
    "estimate_point",
    "cycle",
    "type",
  ];
  const more = ["external_source", "external_id", "deleted_at", "description_binary", "type_id"];
  const colours = { color: "#60646C", slug: state.name.toLowerCase(), sequence: 15_000, default: state.group === "unstarted" };
  return {
    ...Object.fromEntries([...empty, ...more].map((member) => [member, null])),
    id,
    created_at,
    updated_at,
    name,
    description_html,
    priority: "high",
    sequence_id: 1,
    sort_order: 65_535,
    description: { type: "doc", content: [{ type: "paragraph" }] },
    description_stripped: description_html.replace(/<[^>]*>/g, " ").trim(),
    is_draft: false,
    created_by: actor.id,
    updated_by: actor.id,
    project,
    workspace,
    module: [],
    labels: [],
    assignees: [actor],
    state: { ...state, description: "", ...colours, project, workspace, external_id: null, is_triage: false },
  };
}

/** The payload of a webhook about a change of an issue. */
export function deltaIssueHook(
  issue: DeltaIssue,
  action: string,
  change: { readonly field?: string; readonly old_value?: string; readonly new_value?: string } = {},
) {
  const { field = null, old_value = null, new_value = null } = change;
  const activity = { field, old_value, new_value, actor: issue.actor, old_identifier: null, new_identifier: null };
  const webhook_id = "a4c9b7e2-1f0e-4a53-8a3e-000000000001";
  return { event: "issue", action, webhook_id, workspace_id: workspace, data: deltaIssue(issue), activity };
}
