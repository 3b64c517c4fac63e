import { at, textAt, unmark } from "@signalbox/sdk";

/** The platform's own limit for a body, in characters. */
const longest = 65_536;

/** The text for the agent: Markdown with a heading per part; `""` for events without text. */
export function eventText(event: string, payload: unknown): string {
  if (event === "issues") return itemText("Issue", at(payload, "issue"));
  if (event === "pull_request") return itemText("Pull request", at(payload, "pull_request"));
  if (event === "issue_comment") return commentText(payload);
  if (event === "pull_request_review") return reviewText(payload);
  if (event === "deployment_status") return deploymentText(payload);
  return "";
}

function itemText(kind: string, item: unknown): string {
  return sections(heading(kind, item), facts(item), body(item, "body"));
}

function commentText(payload: unknown): string {
  const issue = at(payload, "issue");
  const kind = at(issue, "pull_request") ? "Pull request" : "Issue";
  const author = textAt(payload, ["comment", "user", "login"], 200);
  const description = body(issue, "body");
  return sections(
    heading(kind, issue),
    facts(issue),
    `## Comment${author ? ` by ${author}` : ""}`,
    body(at(payload, "comment"), "body"),
    description && `## Description\n\n${description}`,
  );
}

function reviewText(payload: unknown): string {
  const review = at(payload, "review");
  const author = textAt(review, ["user", "login"], 200);
  const state = textAt(review, ["state"], 100);
  return sections(
    heading("Pull request", at(payload, "pull_request")),
    facts(at(payload, "pull_request")),
    `## Review${author ? ` by ${author}` : ""}${state ? `: ${state}` : ""}`,
    body(review, "body"),
  );
}

function deploymentText(payload: unknown): string {
  const status = at(payload, "deployment_status");
  const deployment = at(payload, "deployment");
  const environment = textAt(status, ["environment"], 200) ?? textAt(deployment, ["environment"], 200);
  return sections(
    `# Deployment${environment ? ` to ${environment}` : ""}`,
    list([
      ["State", textAt(status, ["state"], 100)],
      ["Ref", textAt(deployment, ["ref"], 500)],
      ["Commit", textAt(deployment, ["sha"], 100)],
      ["Created by", textAt(deployment, ["creator", "login"], 200)],
      ["Address", textAt(status, ["environment_url"]) ?? textAt(status, ["target_url"])],
    ]),
    body(status, "description"),
  );
}

function heading(kind: string, item: unknown): string {
  const number = at(item, "number");
  const title = textAt(item, ["title"])?.replace(/\s+/g, " ");
  return `# ${kind}${typeof number === "number" ? ` #${number}` : ""}${title ? `: ${title}` : ""}`;
}

function facts(item: unknown): string {
  const labels = at(item, "labels");
  const names = Array.isArray(labels) ? labels.slice(0, 100).flatMap((label) => textAt(label, ["name"], 100) ?? []) : [];
  return list([
    ["State", at(item, "merged") === true ? "merged" : textAt(item, ["state"], 100)],
    ["Author", textAt(item, ["user", "login"], 200)],
    ["Labels", names.join(", ") || null],
    ["From", textAt(item, ["head", "ref"], 500)],
    ["Into", textAt(item, ["base", "ref"], 500)],
  ]);
}

const list = (entries: readonly (readonly [string, string | null])[]): string =>
  entries.flatMap(([name, value]) => (value === null ? [] : `- ${name}: ${value}`)).join("\n");

const body = (of: unknown, name: string): string => unmark(textAt(of, [name], longest) ?? "");

const sections = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");
