import { at, type Json, type OwnEdits, PluginError, type Polled, timeAt, type WebhookPayload } from "@signalbox/sdk";
import { type Repository, repositoryOf } from "./address.ts";
import { changeKey } from "./change-key.ts";
import type { Client } from "./client.ts";
import { cursorOf, type Position, seconds } from "./poll-cursor.ts";
import { type Budget, type Item, readList } from "./poll-list.ts";
import * as shapes from "./shapes.ts";

/** Pages in one poll of each list; the next poll goes on from there. */
const pages = 20;

interface Told extends WebhookPayload {
  readonly when: string;
}

/** What changed in a repository, told as its webhooks would have told it. */
export async function poll(
  client: Client,
  edits: OwnEdits,
  from: { project: string; since: string; cursor: string | null },
  signal: AbortSignal,
): Promise<Polled> {
  const repository = repositoryOf(from.project);
  const cursor = cursorOf(from.cursor, from.since);
  const order = { sort: "updated", direction: "asc" };
  const read = (path: string, fixed: Record<string, string>, start: typeof cursor.issues) =>
    readList(client, `/repos/{owner}/{repo}/${path}`, repository, fixed, start, { requests: pages } satisfies Budget, signal);
  // Issues first: a comment also changes its issue, so the comment that explains a change is among those read after it.
  const issues = await read("issues", { ...order, state: "all" }, cursor.issues);
  const comments = await read("issues/comments", order, cursor.comments);
  const full_name = `${repository.owner}/${repository.repo}`;
  const known = new Map(issues.items.map((issue) => [at(issue, "number"), issue]));
  const told: Told[] = [];
  for (const comment of comments.items) told.push(...toldComment(comment, cursor.comments.from, full_name, known));
  for (const issue of issues.items) {
    if (!at(issue, "pull_request")) told.push(...toldItem("issues", "issue", issue, cursor.issues, full_name));
    else
      told.push(
        ...toldItem("pull_request", "pull_request", await pull(client, repository, issue, signal), cursor.issues, full_name),
      );
  }
  const commented = new Set(comments.items.map((comment) => `${issueOf(comment)} ${seconds(comment.updated_at)}`));
  const events = told.filter((event) => !isOwnOrExplained(event, commented, edits)).sort((a, b) => a.when.localeCompare(b.when));
  return {
    events: events.map(({ headers, payload }) => ({ headers, payload })),
    cursor: JSON.stringify({ v: 1, issues: issues.position, comments: comments.position }),
  };
}

/** A list names neither branches nor the merge of a pull request; a webhook does, and mappings ask for it. */
async function pull(client: Client, repository: Repository, issue: Item, signal: AbortSignal): Promise<Item> {
  const asked = { ...repository, pull_number: Number(at(issue, "number")) };
  try {
    const { data } = await client.read("GET /repos/{owner}/{repo}/pulls/{pull_number}", asked, shapes.anything, signal);
    return { ...data, updated_at: issue.updated_at };
  } catch (error) {
    if (!(error instanceof PluginError) || error.code !== "not_found") throw error;
    return { ...issue, merged: timeAt(issue, "pull_request", "merged_at") !== null };
  }
}

/** New since `from`: opened. Closed since: closed. Neither: edited, by nobody knows whom. */
function toldItem(event: string, member: string, item: Item, start: Position, full_name: string): Told[] {
  const since = seconds(start.from);
  const known = start.seen.some((name) => name.startsWith(`${at(item, "number")}:`));
  const created = timeAt(item, "created_at");
  const closed = timeAt(item, "closed_at");
  const repository = { full_name };
  const events: Told[] = [];
  if (created && seconds(created) >= since && !known) {
    events.push(tell(event, { action: "opened", [member]: item, repository, sender: login(at(item, "user")) }, created));
  }
  if (closed && seconds(closed) >= since) {
    const by = login(at(item, event === "pull_request" && at(item, "merged_by") ? "merged_by" : "closed_by"));
    events.push(tell(event, { action: "closed", [member]: item, repository, sender: by }, closed));
  }
  if (events.length > 0) return events;
  return [tell(event, { action: "edited", [member]: item, repository, sender: null }, item.updated_at)];
}

/** New comments only: the service handles no other action of them. */
function toldComment(comment: Item, from: string, full_name: string, known: ReadonlyMap<unknown, Item>): Told[] {
  const created = timeAt(comment, "created_at");
  const number = issueOf(comment);
  if (!created || number === null || seconds(created) < seconds(from)) return [];
  const issue = known.get(number) ?? { number };
  const payload = { action: "created", issue, comment, repository: { full_name }, sender: login(at(comment, "user")) };
  return [tell("issue_comment", payload, created)];
}

function issueOf(comment: Item): number | null {
  const number = Number(/\/(\d{1,15})$/.exec(String(at(comment, "issue_url") ?? ""))?.[1]);
  return Number.isSafeInteger(number) ? number : null;
}

const login = (user: unknown): unknown => (typeof at(user, "login") === "string" ? user : null);

function tell(event: string, told: Record<string, unknown>, when: string): Told {
  // Ids over 2^53 were read as bigint, which is no JSON.
  const payload = JSON.parse(JSON.stringify(told, (_, value) => (typeof value === "bigint" ? String(value) : value))) as Json;
  const key = changeKey(event, String(told.action), payload);
  const headers = { "x-alpha-event": event, ...(key === null ? {} : { "x-alpha-delivery": `poll:${key}` }) };
  return { headers, payload, when };
}

/** An edit of ours, or one that is only the trace of a comment on the issue, within the second or the next. */
function isOwnOrExplained({ headers, payload, when }: Told, commented: ReadonlySet<string>, edits: OwnEdits): boolean {
  if (at(payload, "action") !== "edited") return false;
  const number = at(payload, "issue", "number") ?? at(payload, "pull_request", "number");
  const explained = [-1, 0, 1].some((shift) => commented.has(`${number} ${seconds(when, shift)}`));
  return explained || edits.has(headers["x-alpha-delivery"]?.slice("poll:".length) ?? null);
}
