import { createRequire } from "node:module";
import type { WebhookDefinition } from "@octokit/webhooks-examples";

/** Members to set, at any depth; arrays and all other values replace the existing ones. */
type Overrides = { readonly [member: string]: unknown };

export interface Subject {
  /** `owner/name`. Default: `octo/app`. */
  readonly repo?: string;
  readonly number?: number;
  readonly title?: string;
  readonly body?: string | null;
  /** Login of the account that caused the event. */
  readonly sender?: string;
}

export type Payload = Record<string, unknown>;

/** Real payloads with hundreds of members each, collected by the platform's community. */
const definitions = createRequire(import.meta.url)("@octokit/webhooks-examples") as WebhookDefinition[];

/** A copy of a real payload with that event and action. Throws if the collection has none. */
export function example(event: string, action?: string): Payload {
  const examples = (definitions.find(({ name }) => name === event)?.examples ?? []) as unknown as Payload[];
  const found = examples.find((payload) => action === undefined || payload.action === action);
  if (!found) throw new Error(`there is no example of ${event}${action ? ` / ${action}` : ""}`);
  return structuredClone(found);
}

export const issueOpened = (subject: Subject = {}, overrides: Overrides = {}): Payload =>
  about(example("issues", "opened"), "issue", subject, overrides);

export const issueClosed = (subject: Subject = {}, overrides: Overrides = {}): Payload =>
  about(example("issues", "opened"), "issue", subject, merge({ action: "closed", issue: closing }, overrides));

export const issueDeleted = (subject: Subject = {}, overrides: Overrides = {}): Payload =>
  about(example("issues", "deleted"), "issue", subject, overrides);

/** `label`: the one that was added. */
export const issueLabeled = (subject: Subject & { label: string }, overrides: Overrides = {}): Payload => {
  const { label, ...rest } = subject;
  const labels = { label: { name: label }, issue: { labels: [{ name: label }] } };
  return about(example("issues", "labeled"), "issue", rest, merge(labels, overrides));
};

export const issueEdited = (subject: Subject = {}, overrides: Overrides = {}): Payload =>
  about(example("issues", "edited"), "issue", subject, overrides);

export const issueCommented = (subject: Subject & { comment?: string } = {}, overrides: Overrides = {}): Payload => {
  const { comment = "Any news on this?", sender = "mona", ...rest } = subject;
  const written = { comment: { id: nextId(), body: comment, user: { login: sender } } };
  return about(example("issue_comment", "created"), "issue", { ...rest, sender }, merge(written, overrides));
};

export const pullRequestOpened = (subject: Subject = {}, overrides: Overrides = {}): Payload =>
  about(example("pull_request", "opened"), "pull_request", subject, overrides);

/** `merged`: closed by merging. */
export const pullRequestClosed = (subject: Subject & { merged?: boolean } = {}, overrides: Overrides = {}): Payload => {
  const { merged = false, ...rest } = subject;
  const pull_request = { state: "closed", merged, merged_at: merged ? closing.closed_at : null, closed_at: closing.closed_at };
  return about(example("pull_request", "closed"), "pull_request", rest, merge({ pull_request }, overrides));
};

export const pullRequestSynchronized = (subject: Subject = {}, overrides: Overrides = {}): Payload =>
  about(example("pull_request", "synchronize"), "pull_request", subject, overrides);

const closing = { state: "closed", state_reason: "completed", closed_at: "2026-01-05T10:00:00Z" };

function about(payload: Payload, member: "issue" | "pull_request", subject: Subject, overrides: Overrides): Payload {
  const { repo = "octo/app", number = 1, title = "Login fails", body = "It fails since Monday.", sender = "mona" } = subject;
  const [owner = "", name = ""] = repo.split("/");
  const original = payload.repository as { full_name: string };
  const moved = JSON.parse(JSON.stringify(payload).replaceAll(original.full_name, repo)) as Payload;
  return merge(
    merge(moved, {
      [member]: { id: nextId(), number, title, body, user: { login: sender } },
      repository: { name, full_name: repo, owner: { login: owner } },
      sender: { login: sender },
    }),
    overrides,
  );
}

function merge(target: Payload, overrides: Overrides): Payload {
  const merged = { ...target };
  for (const [member, value] of Object.entries(overrides)) {
    const there = merged[member];
    merged[member] = isObject(value) && isObject(there) ? merge(there, value) : value;
  }
  return merged;
}

const isObject = (value: unknown): value is Payload => typeof value === "object" && value !== null && !Array.isArray(value);

let lastId = 3_000_000_000;
const nextId = (): number => ++lastId;
