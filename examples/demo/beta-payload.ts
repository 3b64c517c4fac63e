/** The time format of the platform's webhooks. */
export const betaTime = (iso: string): string => `${iso.slice(0, 19).replace("T", " ")} UTC`;

export const betaUser = (username: string) => ({
  id: username === "signalbox-bot" ? 6 : 5,
  name: username,
  username,
  avatar_url: `https://gitlab.example/uploads/-/system/user/avatar/${username}.png`,
  email: "[REDACTED]",
});

export function betaProject(path: string) {
  const name = path.split("/").at(-1) ?? path;
  const web = `https://gitlab.example/${path}`;
  const ssh = `git@gitlab.example:${path}.git`;
  return {
    id: 77,
    name,
    description: "",
    web_url: web,
    avatar_url: null,
    git_ssh_url: ssh,
    git_http_url: `${web}.git`,
    namespace: path.split("/").at(-2) ?? path,
    visibility_level: 0,
    path_with_namespace: path,
    default_branch: "main",
    ci_config_path: null,
    homepage: web,
    url: ssh,
    ssh_url: ssh,
    http_url: `${web}.git`,
  };
}

export const betaLabel = (title: string) => ({
  id: 206,
  title,
  color: "#dc143c",
  project_id: 77,
  created_at: betaTime("2026-01-01T08:00:00Z"),
  updated_at: betaTime("2026-01-01T08:00:00Z"),
  template: false,
  description: null,
  type: "ProjectLabel",
  group_id: null,
});

export interface BetaIssue {
  readonly project: string;
  readonly iid: number;
  readonly title: string;
  readonly description: string;
  /** The actor. */
  readonly username: string;
  /** ISO 8601. */
  readonly created_at: string;
  readonly updated_at?: string;
  readonly state?: string;
  readonly labels?: readonly string[];
}

/** The members of an issue that webhooks contain. */
export function betaIssue(issue: BetaIssue) {
  const { iid, title, description, state = "opened", created_at, updated_at = created_at, labels = ["bug"] } = issue;
  const isClosed = state === "closed";
  return {
    author_id: 5,
    closed_at: isClosed ? betaTime(updated_at) : null,
    confidential: false,
    created_at: betaTime(created_at),
    description,
    discussion_locked: null,
    due_date: null,
    id: 9000 + iid,
    iid,
    last_edited_at: null,
    last_edited_by_id: null,
    milestone_id: null,
    moved_to_id: null,
    duplicated_to_id: null,
    project_id: 77,
    relative_position: 513,
    state_id: isClosed ? 2 : 1,
    time_estimate: 0,
    title,
    updated_at: betaTime(updated_at),
    updated_by_id: null,
    weight: null,
    health_status: null,
    type: "Issue",
    url: `https://gitlab.example/${issue.project}/-/issues/${iid}`,
    total_time_spent: 0,
    time_change: 0,
    human_total_time_spent: null,
    human_time_change: null,
    human_time_estimate: null,
    assignee_ids: [],
    assignee_id: null,
    labels: labels.map(betaLabel),
    state,
    severity: "unknown",
    customer_relations_contacts: [],
  };
}

/** The payload of a webhook about an issue, with the other members that the platform sends. */
export function betaIssueHook(issue: BetaIssue, action: string, changes: Readonly<Record<string, unknown>> = {}) {
  const project = betaProject(issue.project);
  const { name, url, description, homepage } = project;
  const labels = (issue.labels ?? ["bug"]).map(betaLabel);
  const object_attributes = { ...betaIssue(issue), action };
  return {
    object_kind: "issue",
    event_type: "issue",
    user: betaUser(issue.username),
    project,
    object_attributes,
    labels,
    changes,
    repository: { name, url, description, homepage },
    assignees: [],
  };
}
