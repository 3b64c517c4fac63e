import { PluginError, type Subject, stringAt, valueAt } from "@signalbox/sdk";
import { addressOf, isNumber, isProject, type Repository, repositoryOf } from "./address.ts";

/** Where a comment is posted. Issues, pull requests and discussions of a repository share one sequence of numbers. */
export type Place = Repository &
  (
    | { readonly kind: "issue"; readonly issue_number: number }
    | { readonly kind: "review"; readonly pull_number: number; readonly comment_id: string }
    | { readonly kind: "commit"; readonly commit_sha: string; readonly path: string | null; readonly position: number | null }
    | { readonly kind: "discussion"; readonly discussion: string; readonly reply_to: string | null }
  );

const sha = /^[0-9a-f]{7,64}$/i;
const node = /^[\w=-]{1,200}$/;

/** Events about what ran for a commit. */
const runs = new Set(["check_run", "check_suite", "workflow_run"]);
/** The member with the issue of the repository that is notified. */
const linked: ReadonlyMap<string, string> = new Map([
  ["sub_issue_added", "parent_issue"],
  ["sub_issue_removed", "parent_issue"],
  ["parent_issue_added", "sub_issue"],
  ["parent_issue_removed", "sub_issue"],
  ["blocked_by_added", "blocked_issue"],
  ["blocked_by_removed", "blocked_issue"],
  ["blocking_added", "blocking_issue"],
  ["blocking_removed", "blocking_issue"],
]);

/** The subject of an event: the number of an issue or pull request, or `@<sha>` for a commit, as the platform writes it. */
export function subjectOf(event: string, payload: unknown): Subject | null {
  const hasMoved = event === "issues" && valueAt(payload, "changes", "new_issue") !== undefined;
  const project = hasMoved
    ? valueAt(payload, "changes", "new_repository", "full_name")
    : valueAt(payload, "repository", "full_name");
  if (!isProject(project)) return null;
  // After a transfer the old number leads nowhere that takes a comment.
  if (hasMoved) return numberedSubject(project, [valueAt(payload, "changes", "new_issue", "number")]);
  const pull = pullOfRun(event, project, payload);
  if (pull !== undefined) return numberedSubject(project, [pull]);
  const issue = linkedIssue(event, stringAt(payload, ["action"]), payload);
  if (issue !== undefined) return numberedSubject(project, [valueAt(issue, "number")]);
  const commit = event === "commit_comment" ? stringAt(payload, ["comment", "commit_id"], 100) : null;
  if (commit !== null && sha.test(commit)) return { project, issue: `@${commit}` };
  return numberedSubject(
    project,
    ["issue", "pull_request", "discussion"].map((name) => valueAt(payload, name, "number")),
  );
}

/** The title of what `subjectOf` names, where the payload has it. */
export function titleOf(event: string, payload: unknown): string | null {
  const newIssue = event === "issues" ? valueAt(payload, "changes", "new_issue") : undefined;
  const item = newIssue ?? linkedIssue(event, stringAt(payload, ["action"]), payload);
  const members = ["issue", "pull_request", "discussion"].map((name) => valueAt(payload, name));
  return stringAt(item ?? members.find((one) => isNumber(valueAt(one, "number"))), ["title"]);
}

/**
 * The pull request that a check or a workflow ran for, if there is exactly one. The platform also lists pull requests of other
 * repositories that have the same commit.
 */
function pullOfRun(event: string, project: string, payload: unknown): unknown {
  if (!runs.has(event)) return undefined;
  const pulls = valueAt(payload, event, "pull_requests");
  const path = `/repos/${project}/pulls/`.toLowerCase();
  const own = Array.isArray(pulls)
    ? pulls.slice(0, 100).filter((pull) => stringAt(pull, ["url"])?.toLowerCase().includes(path))
    : [];
  return own.length === 1 ? valueAt(own[0], "number") : undefined;
}

/** The issue of the repository that an event about two issues was sent to. */
export function linkedIssue(event: string, action: string | null, payload: unknown): unknown {
  const member = event === "sub_issues" || event === "issue_dependencies" ? linked.get(action ?? "") : undefined;
  return member === undefined ? undefined : valueAt(payload, member);
}

function numberedSubject(project: string, numbers: readonly unknown[]): Subject | null {
  const number = numbers.find(isNumber);
  return number === undefined ? null : { project, issue: String(number) };
}

/** Where an answer belongs if not on the issue itself: the thread of a review comment, a line of a commit, a discussion. */
export function threadOf(event: string, payload: unknown): string | null {
  const comment = valueAt(payload, "comment");
  if (event === "pull_request_review_comment") {
    // The platform takes replies to the first comment of a thread only.
    const first = valueAt(comment, "in_reply_to_id") ?? valueAt(comment, "id");
    return isNumber(first) ? `review:${first}` : null;
  }
  if (event === "pull_request_review_thread") {
    const first = valueAt(payload, "thread", "comments", "0");
    const id = valueAt(first, "in_reply_to_id") ?? valueAt(first, "id");
    return isNumber(id) ? `review:${id}` : null;
  }
  if (event === "commit_comment") {
    const [path, position] = [stringAt(comment, ["path"], 300), valueAt(comment, "position")];
    return path !== null && isNumber(position) ? `line:${position}:${path}` : null;
  }
  if (event !== "discussion" && event !== "discussion_comment") return null;
  const discussion = nodeAt(payload, "discussion", "node_id");
  // Replies cannot have replies, so the answer goes to the parent comment.
  const parent = event === "discussion" ? null : (nodeAt(comment, "parent_node_id") ?? replyTo(comment));
  return discussion === null ? null : `discussion:${discussion}${parent === null ? "" : `:${parent}`}`;
}

/**
 * A reply contains only the number of its parent, not the node id that a reply needs, so the answer is posted at the top
 * level.
 */
const replyTo = (comment: unknown): string | null =>
  isNumber(valueAt(comment, "parent_id")) ? null : nodeAt(comment, "node_id");

function nodeAt(value: unknown, ...path: readonly string[]): string | null {
  const found = valueAt(value, ...path);
  return typeof found === "string" && node.test(found) ? found : null;
}

/** Id of the comment that the event is about, with its kind if it is not a comment on an issue. */
export function commentIdOf(event: string, payload: unknown): string | null {
  if (event === "discussion_comment") {
    const id = nodeAt(payload, "comment", "node_id");
    return id && `discussion_comment:${id}`;
  }
  const id = valueAt(payload, "comment", "id");
  if (!isNumber(id)) return null;
  if (event === "issue_comment") return String(id);
  if (event === "pull_request_review_comment") return `review_comment:${id}`;
  return event === "commit_comment" ? `commit_comment:${id}` : null;
}

/** Where an answer belongs. Throws `invalid_input`. */
export function placeOf({ project, issue }: Subject, thread: string | null = null): Place {
  const [, kind, rest = ""] = /^(review|line|discussion):(.*)$/s.exec(thread ?? "") ?? [];
  const commit = /^(?:([^@#\s]+))?@([0-9a-f]{7,64})$/i.exec(issue.trim());
  if (commit) {
    const [, position, path = null] = (kind === "line" && /^(\d{1,9}):(.+)$/s.exec(rest)) || [];
    const where = { commit_sha: commit[2] ?? "", path, position: position === undefined ? null : Number(position) };
    return { kind: "commit", ...repositoryOf(commit[1] ?? project), ...where };
  }
  const { owner, repo, issue_number } = addressOf(issue, project);
  if (kind === "review" && /^\d{1,20}$/.test(rest))
    return { kind: "review", owner, repo, pull_number: issue_number, comment_id: rest };
  if (kind === "discussion") {
    const [discussion = "", reply_to = null] = rest.split(":");
    if (!node.test(discussion) || (reply_to !== null && !node.test(reply_to)))
      throw new PluginError("invalid_input", "the thread is not the id of a discussion");
    return { kind: "discussion", owner, repo, discussion, reply_to };
  }
  return { kind: "issue", owner, repo, issue_number };
}
