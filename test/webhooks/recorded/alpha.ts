import { startTracker } from "../../../plugins/alpha/test-tracker.ts";
import { at, type Expected, firstLines, type Recorded, recordedOf } from "./recorded.ts";
import type { RecordedPlatform } from "./suite.ts";

/** The collections name their files after the events, with a few names of their own. */
const prefixes: readonly (readonly [RegExp, string])[] = [
  [/^(?:branch|tag)_(create|delete)$/, "$1"],
  [/^pr_review_.*/, "pull_request_review"],
  [/^pr_.*/, "pull_request"],
  [/^push_.*/, "push"],
  [/^release_.*/, "release"],
  [/^deployment_commit$/, "deployment"],
  [/^merge_group_.*/, "merge_group"],
  [/^pipeline_hook$/, "workflow_run"],
  [/^comment$|^pull_request_issue_comment$/, "issue_comment"],
  [/^repository_edited$/, "repository"],
];
function eventOf(file: string): string {
  const name = (file.split("/").at(-1) ?? "").replace(/\.json$/, "").replaceAll("-", "_");
  const found = prefixes.find(([pattern]) => pattern.test(name));
  return found ? name.replace(...found) : name;
}

/** The default mappings. */
const triggers: Readonly<Record<string, string>> = {
  "issues/opened": "issue.created",
  "issues/closed": "issue.closed",
  "pull_request/opened": "pr.opened",
  "pull_request/closed": "pr.closed",
  "issue_comment/created": "issue.commented",
};
/** `author_association` of the platform's schema. */
const standings: Readonly<Record<string, string>> = {
  OWNER: "owner",
  MEMBER: "member",
  COLLABORATOR: "collaborator",
  CONTRIBUTOR: "contributor",
  FIRST_TIMER: "none",
  FIRST_TIME_CONTRIBUTOR: "none",
  MANNEQUIN: "none",
  NONE: "none",
};

/** What the agent needs of each event, by the paths of the platform's documentation. */
const texts: Readonly<Record<string, readonly (readonly string[])[]>> = {
  issues: [
    ["issue", "title"],
    ["issue", "body"],
    ["issue", "html_url"],
  ],
  issue_comment: [
    ["issue", "title"],
    ["comment", "body"],
    ["comment", "user", "login"],
    ["issue", "body"],
  ],
  pull_request: [
    ["pull_request", "title"],
    ["pull_request", "body"],
    ["pull_request", "head", "ref"],
    ["label", "name"],
  ],
  pull_request_review: [
    ["pull_request", "title"],
    ["review", "body"],
    ["review", "user", "login"],
    ["pull_request", "body"],
  ],
  pull_request_review_comment: [
    ["pull_request", "title"],
    ["comment", "body"],
    ["comment", "path"],
    ["comment", "diff_hunk"],
    ["comment", "user", "login"],
  ],
  commit_comment: [
    ["comment", "body"],
    ["comment", "commit_id"],
    ["repository", "full_name"],
  ],
  deployment_status: [
    ["deployment_status", "state"],
    ["deployment", "environment"],
    ["deployment", "ref"],
  ],
  deployment: [
    ["deployment", "environment"],
    ["deployment", "ref"],
  ],
  ...Object.fromEntries(
    ["check_run", "check_suite", "workflow_run", "workflow_job"].map((name) => [
      name,
      ["name", "status", "conclusion", "head_branch", "head_sha", "html_url"].map((member) => [name, member]),
    ]),
  ),
  status: [["context"], ["state"], ["sha"], ["description"]],
  release: [
    ["release", "tag_name"],
    ["release", "body"],
    ["release", "html_url"],
  ],
  milestone: [
    ["milestone", "title"],
    ["milestone", "description"],
  ],
  label: [["label", "name"]],
  merge_group: [
    ["merge_group", "head_ref"],
    ["merge_group", "head_sha"],
  ],
  create: [["ref_type"], ["ref"]],
  delete: [["ref_type"], ["ref"]],
  push: [["ref"], ["before"], ["after"], ["head_commit", "message"]],
  dependabot_alert: [
    ["alert", "security_advisory", "summary"],
    ["alert", "dependency", "package", "name"],
  ],
  code_scanning_alert: [
    ["alert", "rule", "description"],
    ["alert", "html_url"],
  ],
};
/** Every text names these. */
const always = [["action"], ["repository", "full_name"]];
const titled = /^(?:issues|issue_comment|pull_request|commit_comment|deployment_status)/;

function expected({ file, payload, headers }: Recorded): Expected {
  const event = headers["x-github-event"] ?? "";
  const action = (at(payload, "action") as string | undefined) ?? null;
  const repo = at(payload, "repository", "full_name");
  const number = at(payload, "issue", "number") ?? at(payload, "pull_request", "number") ?? pullOf(event, payload);
  const commit = event === "commit_comment" ? `@${at(payload, "comment", "commit_id")}` : undefined;
  const subject = repo && (number ?? commit) ? `alpha:${repo}#${number ?? commit}` : null;
  const actor = (at(payload, "sender", "login") as string | undefined) ?? null;
  const more = event === "pull_request" && action === "synchronize" ? [String(at(payload, "after")).slice(0, 12)] : [];
  return {
    file,
    event,
    action,
    trigger: triggers[`${event}/${action}`] ?? null,
    refused: null,
    subject,
    actor,
    kind: actor && kindOf(payload),
    standing: actor && standingOf(payload, actor),
    text: [...firstLines(payload, [...(titled.test(event) ? [] : always), ...(texts[event] ?? [])]), ...more],
    answer: subject && answerOf(event, payload, number),
  };
}

/** The only pull request of the repository that a check or a workflow ran for. */
function pullOf(event: string, payload: unknown): unknown {
  const pulls = (at(payload, event, "pull_requests") ?? []) as { readonly number: number }[];
  return pulls.length === 1 ? pulls[0]?.number : undefined;
}

const kindOf = (payload: unknown): string => {
  const type = at(payload, "sender", "type");
  return type === "User" ? "human" : type === "Bot" ? "bot" : "unknown";
};

/** Only where the sender wrote what carries the association. */
function standingOf(payload: unknown, actor: string): string {
  for (const name of ["comment", "review", "issue", "pull_request"]) {
    const association = at(payload, name, "author_association");
    if (typeof association === "string" && at(payload, name, "user", "login") === actor)
      return standings[association] ?? "unknown";
  }
  return "unknown";
}

/** "Create a reply for a review comment", "Create a commit comment", "Create an issue comment" of the REST API. */
function answerOf(event: string, payload: unknown, number: unknown): string {
  const repo = `POST /repos/${at(payload, "repository", "full_name")}`;
  if (event === "pull_request_review_comment")
    return `${repo}/pulls/${number}/comments/${at(payload, "comment", "in_reply_to_id") ?? at(payload, "comment", "id")}/replies`;
  if (event === "commit_comment") return `${repo}/commits/${at(payload, "comment", "commit_id")}/comments`;
  return `${repo}/issues/${number}/comments`;
}

export const alpha: RecordedPlatform = {
  source: "alpha",
  recorded: () => recordedOf("alpha", (file) => ({ "x-github-event": eventOf(file), "x-github-delivery": "{delivery}" })),
  expected,
  tracker: async () => {
    const tracker = await startTracker();
    const env = { ALPHA_API_URL: tracker.url, ALPHA_TOKEN: "test-token-1" };
    return Object.assign(tracker, { env });
  },
};
