import { type EventText, factList, plainLine, sections, stringAt, stripMarker, valueAt } from "@signalbox/sdk";
import { isNumber } from "./address.ts";
import { changesOf } from "./changes.ts";
import { otherText } from "./other-text.ts";
import { linkedIssue } from "./place.ts";

/** The platform's own limit for a body, in characters. */
const maxTextLength = 65_536;

/** The text for the agent: Markdown with a heading per part; `""` for a payload without the name of its event. */
export function eventText(event: string, action: string | null, payload: unknown): EventText {
  const changes = changesOf(event, action, payload);
  if (event === "issues") return itemText("Issue", valueAt(payload, "issue"), changes);
  if (event === "pull_request") return itemText("Pull request", valueAt(payload, "pull_request"), changes);
  if (event === "discussion") return itemText("Discussion", valueAt(payload, "discussion"), changes);
  if (event === "issue_comment") {
    const isPull = valueAt(payload, "issue", "pull_request") !== undefined;
    return commentText(isPull ? "Pull request" : "Issue", valueAt(payload, "issue"), action, payload);
  }
  if (event === "discussion_comment") return commentText("Discussion", valueAt(payload, "discussion"), action, payload);
  if (event === "commit_comment") return commitCommentText(action, payload);
  if (event === "pull_request_review") return reviewText(action, payload);
  if (event === "pull_request_review_comment") return reviewCommentText(action, payload);
  if (event === "pull_request_review_thread") return threadText(action, payload);
  if (event === "deployment_status") return deploymentText(payload);
  if (event === "sub_issues" || event === "issue_dependencies") return linkText(event, action, payload);
  return otherText(event, action, payload);
}

function itemText(kind: string, item: unknown, changes: readonly string[]): EventText {
  const list = changes.map((change) => `- ${plainLine(change)}`).join("\n");
  return sections(heading(kind, item), facts(item), list && `## Changes\n\n${list}`, body(item, "body"));
}

function commentText(kind: string, item: unknown, action: string | null, payload: unknown): EventText {
  return sections(
    heading(kind, item),
    facts(item),
    commentHeading(action, payload),
    body(valueAt(payload, "comment"), "body"),
    descriptionText(item),
  );
}

/** The author of a comment, and the person who changed or deleted it if that is someone else. */
function commentHeading(action: string | null, payload: unknown): string {
  const author = stringAt(payload, ["comment", "user", "login"], 200);
  const sender = stringAt(payload, ["sender", "login"], 200);
  const other = sender !== null && sender !== author ? ` by ${plainLine(sender)}` : "";
  const changed = action === "edited" || action === "deleted" ? ` (${action}${other})` : "";
  return `## Comment${author ? ` by ${plainLine(author)}` : ""}${changed}`;
}

function commitCommentText(action: string | null, payload: unknown): EventText {
  const comment = valueAt(payload, "comment");
  const commit = stringAt(comment, ["commit_id"], 100);
  return sections(
    `# Commit${commit ? ` ${plainLine(commit)}` : ""}`,
    factList([
      ["Repository", stringAt(payload, ["repository", "full_name"], 300)],
      ["Link", stringAt(comment, ["html_url"])],
    ]),
    position(comment),
    commentHeading(action, payload),
    body(comment, "body"),
  );
}

function reviewCommentText(action: string | null, payload: unknown): EventText {
  const comment = valueAt(payload, "comment");
  const pull = valueAt(payload, "pull_request");
  return sections(
    heading("Pull request", pull),
    facts(pull),
    position(comment),
    hunk(comment),
    commentHeading(action, payload),
    body(comment, "body"),
    descriptionText(pull),
  );
}

/** File and line that a comment is about. A comment on an outdated diff has the line of that diff only. */
function position(comment: unknown): string {
  const path = stringAt(comment, ["path"], 500)?.replace(/\s+/g, " ");
  if (!path) return "";
  const at = (names: readonly string[]) => names.map((name) => valueAt(comment, name)).find(isNumber);
  const [from, to] = [at(["start_line", "original_start_line"]), at(["line", "original_line"])];
  const side = valueAt(comment, "side") === "LEFT" ? " (before the change)" : "";
  const lines = to === undefined ? null : from === undefined || from === to ? String(to) : `${from}-${to}`;
  return factList([
    ["File", path],
    ["Line", lines === null ? null : lines + side],
  ]);
}

function hunk(comment: unknown): string {
  const diff = stringAt(comment, ["diff_hunk"], 10_000);
  return diff === null ? "" : codeBlock(diff, "diff");
}

/** Puts the text into a fence longer than any run of backticks in it, so that the text cannot close the fence. */
function codeBlock(text: string, language: string): string {
  const longestRun = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longestRun + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function reviewText(action: string | null, payload: unknown): EventText {
  const review = valueAt(payload, "review");
  const pull = valueAt(payload, "pull_request");
  const author = stringAt(review, ["user", "login"], 200);
  const state = stringAt(review, ["state"], 100)?.replaceAll("_", " ");
  const changed = action === "edited" || action === "dismissed" ? ` (${action})` : "";
  return sections(
    heading("Pull request", pull),
    facts(pull),
    `## Review${author ? ` by ${plainLine(author)}` : ""}${state ? `: ${plainLine(state)}` : ""}${changed}`,
    body(review, "body"),
    descriptionText(pull),
  );
}

/** A conversation about lines of a pull request that was resolved or reopened. */
function threadText(action: string | null, payload: unknown): EventText {
  const comments = valueAt(payload, "thread", "comments");
  const shown = Array.isArray(comments) ? comments.slice(0, 20) : [];
  const pull = valueAt(payload, "pull_request");
  return sections(
    heading("Pull request", pull),
    facts(pull),
    `## Conversation${action ? `: ${plainLine(action)}` : ""}`,
    position(shown[0]),
    hunk(shown[0]),
    ...shown.flatMap((comment) => {
      const author = stringAt(comment, ["user", "login"], 200);
      return [`### Comment${author ? ` by ${plainLine(author)}` : ""}`, body(comment, "body")];
    }),
  );
}

/** An issue that became a part of another, or waits for it. */
function linkText(event: string, action: string | null, payload: unknown): EventText {
  const issue = linkedIssue(event, action, payload);
  const others = ["parent_issue", "sub_issue", "blocked_issue", "blocking_issue"].filter(
    (name) => valueAt(payload, name) !== undefined && valueAt(payload, name) !== issue,
  );
  const lines = others.map((name) => {
    const other = valueAt(payload, name);
    return `- ${name.replace("_", " ")}: #${valueAt(other, "number")} ${plainLine(stringAt(other, ["title"]) ?? "")}`.trim();
  });
  const list = [...(action ? [`- ${plainLine(action).replaceAll("_", " ")}`] : []), ...lines].join("\n");
  return sections(heading("Issue", issue), facts(issue), list && `## Changes\n\n${list}`, body(issue, "body"));
}

function deploymentText(payload: unknown): EventText {
  const status = valueAt(payload, "deployment_status");
  const deployment = valueAt(payload, "deployment");
  const environment = stringAt(status, ["environment"], 200) ?? stringAt(deployment, ["environment"], 200);
  return sections(
    `# Deployment${environment ? ` to ${plainLine(environment)}` : ""}`,
    factList([
      ["State", stringAt(status, ["state"], 100)],
      ["Ref", stringAt(deployment, ["ref"], 500)],
      ["Commit", stringAt(deployment, ["sha"], 100)],
      ["Created by", stringAt(deployment, ["creator", "login"], 200)],
      ["Address", stringAt(status, ["environment_url"]) ?? stringAt(status, ["target_url"])],
    ]),
    body(status, "description"),
  );
}

function heading(kind: string, item: unknown): string {
  const number = valueAt(item, "number");
  const title = plainLine(stringAt(item, ["title"]) ?? "");
  return `# ${kind}${typeof number === "number" ? ` #${number}` : ""}${title ? `: ${title}` : ""}`;
}

function facts(item: unknown): string {
  const labels = valueAt(item, "labels");
  const names = Array.isArray(labels) ? labels.slice(0, 100).flatMap((label) => stringAt(label, ["name"], 100) ?? []) : [];
  return factList([
    ["State", valueAt(item, "merged") === true ? "merged" : stringAt(item, ["state"], 100)],
    ["Author", stringAt(item, ["user", "login"], 200)],
    ["Labels", names.join(", ") || null],
    ["From", stringAt(item, ["head", "ref"], 500)],
    ["Into", stringAt(item, ["base", "ref"], 500)],
    ["Category", stringAt(item, ["category", "name"], 200)],
    ["Link", stringAt(item, ["html_url"])],
  ]);
}

function descriptionText(item: unknown): string {
  const description = body(item, "body");
  return description && `## Description\n\n${description}`;
}

const body = (of: unknown, name: string): string => stripMarker(stringAt(of, [name], maxTextLength) ?? "");
