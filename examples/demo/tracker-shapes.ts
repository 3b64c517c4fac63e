import type { components } from "@octokit/openapi-types";
import type { Comment, Issue, Label, Repository } from "./tracker-store.ts";

// The types come from the platform's OpenAPI document, so a missing required member does not compile.
type Schemas = components["schemas"];

export function userShape(base: string, login: string): Schemas["simple-user"] {
  const url = `${base}/users/${login}`;
  return {
    login,
    id: numberOf(login),
    node_id: nodeId("U", numberOf(login)),
    avatar_url: `${base}/avatars/${login}`,
    gravatar_id: "",
    url,
    html_url: `${base}/${login}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: login.endsWith("[bot]") ? "Bot" : "User",
    user_view_type: "public",
    site_admin: false,
  };
}

export function accountShape(base: string, login: string): Schemas["public-user"] {
  return {
    ...userShape(base, login),
    name: login,
    company: null,
    blog: "",
    location: null,
    email: null,
    hireable: null,
    bio: null,
    public_repos: 1,
    public_gists: 0,
    followers: 0,
    following: 0,
    created_at: "2020-01-01T00:00:00Z",
    updated_at: "2020-01-01T00:00:00Z",
  };
}

export function issueShape(base: string, repo: Repository, issue: Issue): Schemas["issue"] {
  const repository_url = `${base}/repos/${repo.owner}/${repo.name}`;
  const url = `${repository_url}/issues/${issue.number}`;
  const page = `${base}/${repo.owner}/${repo.name}/${issue.pullRequest ? "pull" : "issues"}/${issue.number}`;
  const pull = {
    url: `${repository_url}/pulls/${issue.number}`,
    html_url: page,
    diff_url: `${page}.diff`,
    patch_url: `${page}.patch`,
  };
  return {
    id: issue.id,
    node_id: nodeId("I", issue.id),
    url,
    repository_url,
    labels_url: `${url}/labels{/name}`,
    comments_url: `${url}/comments`,
    events_url: `${url}/events`,
    timeline_url: `${url}/timeline`,
    html_url: page,
    number: issue.number,
    state: issue.state,
    state_reason: issue.stateReason,
    title: issue.title,
    body: issue.body,
    user: userShape(base, issue.login),
    labels: issue.labels.map((name) => labelShape(base, repo, repo.labels.get(name.toLowerCase()) ?? plainLabel(name))),
    assignee: null,
    assignees: [],
    milestone: null,
    locked: issue.locked,
    active_lock_reason: null,
    comments: issue.comments.length,
    ...(issue.pullRequest ? { pull_request: { ...pull, merged_at: null }, draft: false } : {}),
    closed_at: issue.closedAt,
    closed_by: null,
    created_at: issue.createdAt,
    updated_at: issue.updatedAt,
    author_association: issue.login === repo.owner ? "OWNER" : "CONTRIBUTOR",
    performed_via_github_app: null,
    reactions: reactions(url),
    type: null,
    sub_issues_summary: { total: 0, completed: 0, percent_completed: 0 },
    issue_dependencies_summary: { blocked_by: 0, blocking: 0, total_blocked_by: 0, total_blocking: 0 },
  };
}

export function commentShape(base: string, repo: Repository, issue: Issue, comment: Comment): Schemas["issue-comment"] {
  const issues = `${base}/repos/${repo.owner}/${repo.name}/issues`;
  const url = `${issues}/comments/${comment.id}`;
  const page = `${base}/${repo.owner}/${repo.name}/${issue.pullRequest ? "pull" : "issues"}/${issue.number}`;
  return {
    id: comment.id,
    node_id: nodeId("IC", comment.id),
    url,
    html_url: `${page}#issuecomment-${comment.id}`,
    issue_url: `${issues}/${issue.number}`,
    user: userShape(base, comment.login),
    body: comment.body,
    created_at: comment.createdAt,
    updated_at: comment.updatedAt,
    author_association: comment.login === repo.owner ? "OWNER" : "CONTRIBUTOR",
    performed_via_github_app: null,
    reactions: reactions(url),
  };
}

export function labelShape(base: string, repo: Repository, label: Label): Schemas["label"] {
  const url = `${base}/repos/${repo.owner}/${repo.name}/labels/${encodeURIComponent(label.name)}`;
  return {
    id: label.id,
    node_id: nodeId("LA", label.id),
    url,
    name: label.name,
    color: label.color,
    default: false,
    description: label.description,
  };
}

export function rateLimitShape(requestCount: number): Schemas["rate-limit-overview"] {
  const rate = {
    limit: 5000,
    used: requestCount % 5000,
    remaining: 5000 - (requestCount % 5000),
    reset: Math.floor(Date.now() / 1000) + 3600,
  };
  return { resources: { core: rate, search: { limit: 30, used: 0, remaining: 30, reset: rate.reset } }, rate };
}

const plainLabel = (name: string): Label => ({ id: numberOf(name), name, color: "ededed", description: null });

const reactions = (url: string): Schemas["reaction-rollup"] => ({
  url: `${url}/reactions`,
  total_count: 0,
  "+1": 0,
  "-1": 0,
  laugh: 0,
  hooray: 0,
  confused: 0,
  heart: 0,
  rocket: 0,
  eyes: 0,
});

export const nodeId = (kind: string, id: number): string => `${kind}_kw${Buffer.from(String(id)).toString("base64url")}`;

/** A stable number for a name. */
export const numberOf = (name: string): number =>
  [...name].reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) % 100_000_007, 7);
