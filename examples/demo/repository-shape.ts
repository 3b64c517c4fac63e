import type { components } from "@octokit/openapi-types";
import { nodeId, userShape } from "./tracker-shapes.ts";
import type { Repository } from "./tracker-store.ts";

const collections = [
  "assignees",
  "branches",
  "collaborators",
  "comments",
  "commits",
  "contents",
  "git_commits",
  "git_refs",
  "git_tags",
  "issue_comment",
  "issue_events",
  "issues",
  "keys",
  "labels",
  "milestones",
  "notifications",
  "pulls",
  "releases",
  "statuses",
  "trees",
  "archive",
  "blobs",
  "compare",
  "contributors",
  "deployments",
  "downloads",
  "events",
  "forks",
  "hooks",
  "languages",
  "merges",
  "stargazers",
  "subscribers",
  "subscription",
  "tags",
  "teams",
] as const;

type Links = Record<`${(typeof collections)[number]}_url`, string>;

/** Members that the demonstration never changes. */
const disabledFeatures = {
  private: false,
  description: null,
  fork: false,
  mirror_url: null,
  homepage: null,
  language: "TypeScript",
  forks_count: 0,
  forks: 0,
  stargazers_count: 0,
  watchers_count: 0,
  watchers: 0,
  size: 108,
  default_branch: "main",
  topics: [],
  has_issues: true,
  has_projects: true,
  has_wiki: true,
  has_pages: false,
  has_downloads: true,
  has_discussions: false,
  archived: false,
  disabled: false,
  visibility: "public",
  license: null,
  subscribers_count: 0,
  network_count: 0,
};

export function repositoryShape(base: string, repo: Repository): components["schemas"]["full-repository"] {
  const full_name = `${repo.owner}/${repo.name}`;
  const url = `${base}/repos/${full_name}`;
  const page = `${base}/${full_name}`;
  const links = Object.fromEntries(collections.map((name) => [`${name}_url`, `${url}/${name.replaceAll("_", "/")}`])) as Links;
  const open = [...repo.issues.values()].filter((issue) => issue.state === "open").length;
  return {
    id: repo.id,
    node_id: nodeId("R", repo.id),
    name: repo.name,
    full_name,
    owner: userShape(base, repo.owner),
    html_url: page,
    url,
    ...links,
    ...disabledFeatures,
    git_url: `git://${full_name}.git`,
    ssh_url: `git@tracker:${full_name}.git`,
    clone_url: `${page}.git`,
    svn_url: page,
    open_issues_count: open,
    open_issues: open,
    pushed_at: repo.createdAt,
    created_at: repo.createdAt,
    updated_at: repo.createdAt,
    permissions: { admin: false, maintain: false, push: true, triage: true, pull: true },
  };
}
