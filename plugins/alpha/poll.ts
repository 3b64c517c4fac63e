import { ifCode, type PollBatch, timestampAt, type UnreadableItem, valueAt, type WebhookPayload } from "@signalbox/sdk";
import { type Repository, repositoryOf } from "./address.ts";
import { changeKey } from "./change-key.ts";
import type { Client } from "./client.ts";
import { payloadOf } from "./payload.ts";
import { cursorOf, type Position, seconds } from "./poll-cursor.ts";
import { type Item, type PollContext, readList } from "./poll-list.ts";
import * as shapes from "./shapes.ts";

interface PolledEvent extends WebhookPayload {
  readonly when: string;
}

/** Reads the changes of a repository as the events that its webhooks would have sent. */
export async function poll(
  client: Client,
  from: { project: string; since: string; cursor: string | null },
  signal: AbortSignal,
): Promise<PollBatch> {
  const repository = repositoryOf(from.project);
  const cursor = cursorOf(from.cursor, from.since);
  const order = { sort: "updated", direction: "asc" };
  const unreadable: UnreadableItem[] = [];
  const context: PollContext = { client, repository, signal, unreadable };
  // Issues first: a comment also changes its issue, so the comments read afterwards include those that explain a change.
  const issueList = { path: "issues", item: shapes.polledIssue, fixed: { ...order, state: "all" } };
  const issues = await readList(context, issueList, cursor.issues);
  const commentList = { path: "issues/comments", item: shapes.polledComment, fixed: order };
  const comments = await readList(context, commentList, cursor.comments);
  const full_name = spellingOf(`${repository.owner}/${repository.repo}`, [...issues.items, ...comments.items]);
  const known = new Map(issues.items.map((issue) => [valueAt(issue, "number"), issue]));
  const found: PolledEvent[] = [];
  for (const comment of comments.items) found.push(...commentEvents(comment, cursor.comments.from, full_name, known));
  for (const issue of issues.items) {
    if (!valueAt(issue, "pull_request")) found.push(...itemEvents("issues", "issue", issue, cursor.issues, full_name));
    else
      found.push(
        ...itemEvents("pull_request", "pull_request", await pull(client, repository, issue, signal), cursor.issues, full_name),
      );
  }
  const commented = new Set(comments.items.map((comment) => `${issueOf(comment)} ${seconds(comment.updated_at)}`));
  const events = found.filter((event) => !isExplained(event, commented)).sort((a, b) => a.when.localeCompare(b.when));
  return {
    events: events.map(({ headers, payload }) => ({ headers, payload })),
    cursor: JSON.stringify({ v: 1, issues: issues.position, comments: comments.position }),
    unreadable,
  };
}

/** The repository as the platform spells it, so that a webhook and a poll name the same issue, whatever the case in the settings. */
function spellingOf(repository: string, items: readonly Item[]): string {
  const names = items.map((item) => /([^/]+\/[^/]+)\/(?:issues|pull)\/\d+/.exec(String(valueAt(item, "html_url")))?.[1]);
  return names.find((name) => name?.toLowerCase() === repository.toLowerCase()) ?? repository;
}

/** Lists contain neither the branches nor the merge of a pull request; webhooks do, and mappings use them. */
async function pull(client: Client, repository: Repository, issue: Item, signal: AbortSignal): Promise<Item> {
  const query = { ...repository, pull_number: Number(valueAt(issue, "number")) };
  const route = "GET /repos/{owner}/{repo}/pulls/{pull_number}";
  const found = await client.read(route, query, shapes.pull, signal).catch(ifCode("not_found", null));
  if (found?.data) return { ...found.data, updated_at: issue.updated_at };
  return { ...issue, merged: timestampAt(issue, "pull_request", "merged_at") !== null };
}

/** Created since `from`: opened. Closed since: closed. Otherwise: edited, by an unknown actor. */
function itemEvents(event: string, member: string, item: Item, start: Position, full_name: string): PolledEvent[] {
  const since = seconds(start.from);
  const known = start.seen.some((name) => name.startsWith(`${valueAt(item, "number")}:`));
  const created = timestampAt(item, "created_at");
  const closed = timestampAt(item, "closed_at");
  const repository = { full_name };
  const events: PolledEvent[] = [];
  if (created && seconds(created) >= since && !known) {
    events.push(
      polledEvent(event, { action: "opened", [member]: item, repository, sender: login(valueAt(item, "user")) }, created),
    );
  }
  if (closed && seconds(closed) >= since) {
    const by = login(valueAt(item, event === "pull_request" && valueAt(item, "merged_by") ? "merged_by" : "closed_by"));
    events.push(polledEvent(event, { action: "closed", [member]: item, repository, sender: by }, closed));
  }
  if (events.length > 0) return events;
  return [polledEvent(event, { action: "edited", [member]: item, repository, sender: null }, item.updated_at)];
}

/** New comments only: the service handles no other comment action. */
function commentEvents(comment: Item, from: string, full_name: string, known: ReadonlyMap<unknown, Item>): PolledEvent[] {
  const created = timestampAt(comment, "created_at");
  const number = issueOf(comment);
  if (!created || number === null || seconds(created) < seconds(from)) return [];
  const issue = known.get(number) ?? { number };
  const payload = { action: "created", issue, comment, repository: { full_name }, sender: login(valueAt(comment, "user")) };
  return [polledEvent("issue_comment", payload, created)];
}

function issueOf(comment: Item): number | null {
  const number = Number(/\/(\d{1,15})$/.exec(String(valueAt(comment, "issue_url") ?? ""))?.[1]);
  return Number.isSafeInteger(number) ? number : null;
}

const login = (user: unknown): unknown => (typeof valueAt(user, "login") === "string" ? user : null);

function polledEvent(event: string, content: Record<string, unknown>, when: string): PolledEvent {
  const payload = payloadOf(content);
  const key = changeKey(event, String(content.action), payload);
  const headers = { "x-alpha-event": event, ...(key === null ? {} : { "x-alpha-delivery": `poll:${key}` }) };
  return { headers, payload, when };
}

/** A change of `updated_at` that a comment made within a second of it explains. */
function isExplained({ payload, when }: PolledEvent, commented: ReadonlySet<string>): boolean {
  if (valueAt(payload, "action") !== "edited") return false;
  const number = valueAt(payload, "issue", "number") ?? valueAt(payload, "pull_request", "number");
  return [-1, 0, 1].some((shift) => commented.has(`${number} ${seconds(when, shift)}`));
}
