import { stringAt, stripMarker, valueAt } from "@signalbox/sdk";

/** The platform's own limit for a body, in characters. */
const longest = 65_536;

/** The text for the agent: Markdown with a heading per part; `""` for events without text. */
export function eventText(event: string, payload: unknown): string {
  if (event === "issues") return itemText("Issue", valueAt(payload, "issue"));
  if (event === "pull_request") return itemText("Pull request", valueAt(payload, "pull_request"));
  if (event === "issue_comment") return commentText(payload);
  if (event === "pull_request_review") return reviewText(payload);
  if (event === "deployment_status") return deploymentText(payload);
  return "";
}

function itemText(kind: string, item: unknown): string {
  return sections(heading(kind, item), facts(item), body(item, "body"));
}

function commentText(payload: unknown): string {
  const issue = valueAt(payload, "issue");
  const kind = valueAt(issue, "pull_request") ? "Pull request" : "Issue";
  const author = stringAt(payload, ["comment", "user", "login"], 200);
  const description = body(issue, "body");
  return sections(
    heading(kind, issue),
    facts(issue),
    `## Comment${author ? ` by ${author}` : ""}`,
    body(valueAt(payload, "comment"), "body"),
    description && `## Description\n\n${description}`,
  );
}

function reviewText(payload: unknown): string {
  const review = valueAt(payload, "review");
  const author = stringAt(review, ["user", "login"], 200);
  const state = stringAt(review, ["state"], 100);
  return sections(
    heading("Pull request", valueAt(payload, "pull_request")),
    facts(valueAt(payload, "pull_request")),
    `## Review${author ? ` by ${author}` : ""}${state ? `: ${state}` : ""}`,
    body(review, "body"),
  );
}

function deploymentText(payload: unknown): string {
  const status = valueAt(payload, "deployment_status");
  const deployment = valueAt(payload, "deployment");
  const environment = stringAt(status, ["environment"], 200) ?? stringAt(deployment, ["environment"], 200);
  return sections(
    `# Deployment${environment ? ` to ${environment}` : ""}`,
    list([
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
  const title = stringAt(item, ["title"])?.replace(/\s+/g, " ");
  return `# ${kind}${typeof number === "number" ? ` #${number}` : ""}${title ? `: ${title}` : ""}`;
}

function facts(item: unknown): string {
  const labels = valueAt(item, "labels");
  const names = Array.isArray(labels) ? labels.slice(0, 100).flatMap((label) => stringAt(label, ["name"], 100) ?? []) : [];
  return list([
    ["State", valueAt(item, "merged") === true ? "merged" : stringAt(item, ["state"], 100)],
    ["Author", stringAt(item, ["user", "login"], 200)],
    ["Labels", names.join(", ") || null],
    ["From", stringAt(item, ["head", "ref"], 500)],
    ["Into", stringAt(item, ["base", "ref"], 500)],
  ]);
}

const list = (entries: readonly (readonly [string, string | null])[]): string =>
  entries.flatMap(([name, value]) => (value === null ? [] : `- ${name}: ${value}`)).join("\n");

const body = (of: unknown, name: string): string => stripMarker(stringAt(of, [name], longest) ?? "");

const sections = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");
