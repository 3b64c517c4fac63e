import {
  type HttpClient,
  type Json,
  PluginError,
  type PollBatch,
  timestampAt,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import { z } from "zod";
import { changeKey } from "./change-key.ts";
import * as shapes from "./shapes.ts";

/** Issues per poll; the next poll continues from there. */
const maxIssues = 300;
/** The platform's index lags, so recent changes are read again; those already reported are recognised by their key. Milliseconds. */
const overlap = 60_000;
const fields = "summary,description,issuetype,priority,status,project,creator,reporter,assignee,labels,created,updated,comment";

/** `from`: events before this time have been reported. `at`: `updated` of the last issue that was read. */
const cursorShape = z.object({ v: z.literal(1), from: z.string(), at: z.string() });
type Cursor = z.output<typeof cursorShape>;
type Issue = z.output<typeof shapes.changedIssue>;
interface PolledEvent extends WebhookPayload {
  readonly when: string;
}

/** Reads the changes of a project as the events that its webhooks would have sent. */
export async function poll(
  client: HttpClient,
  from: { project: string; since: string; cursor: string | null },
  signal: AbortSignal,
): Promise<PollBatch> {
  const project = from.project.trim();
  if (!/^[A-Za-z][A-Za-z0-9_]{0,99}$/.test(project))
    throw new PluginError(
      "invalid_input",
      `project: must be the key of a project such as "PROJ"; it is ${JSON.stringify(project.slice(0, 200))}`,
    );
  const cursor = cursorOf(from.cursor, from.since);
  const { issues, isComplete } = await listChanged(client, project, cursor, signal);
  const found: PolledEvent[] = [];
  for (const issue of issues) found.push(...(await eventsOf(client, issue, Date.parse(cursor.from), signal)));
  const times = issues.map((issue) => timestampAt(issue, "fields", "updated") ?? "");
  const newestTime = [...times, cursor.at].sort().at(-1) ?? cursor.at;
  const nextCursor: Cursor = { v: 1, from: isComplete ? withOverlap(newestTime) : cursor.from, at: newestTime };
  const events = found.sort((a, b) => a.when.localeCompare(b.when)).map(({ headers, payload }) => ({ headers, payload }));
  return { events, cursor: JSON.stringify(nextCursor) };
}

const withOverlap = (time: string): string => new Date(Date.parse(time) - overlap).toISOString();

function cursorOf(text: string | null, since: string): Cursor {
  try {
    return cursorShape.parse(JSON.parse(text ?? ""));
  } catch {
    const start = new Date(since).toISOString();
    return { v: 1, from: start, at: start };
  }
}

/**
 * Lists issues by time of change. The query language knows absolute times only to the minute and in the time zone of the
 * account, so relative minutes are used.
 */
async function listChanged(client: HttpClient, project: string, { at: newestTime }: Cursor, signal: AbortSignal) {
  const minutes = Math.max(1, Math.ceil((Date.now() - Date.parse(newestTime) + overlap) / 60_000) + 1);
  const jql = `project = "${project}" AND updated >= "-${minutes}m" ORDER BY updated ASC`;
  const search = searchOf(client, { jql, fields, expand: "changelog", maxResults: 100 }, signal);
  const issues: Issue[] = [];
  for (;;) {
    const page = await search();
    issues.push(
      ...page.issues.filter(
        (issue) => Date.parse(timestampAt(issue, "fields", "updated") ?? "") >= Date.parse(newestTime) - overlap,
      ),
    );
    if (page.last) return { issues, isComplete: true };
    if (issues.length >= maxIssues) return { issues, isComplete: false };
  }
}

/** Cloud has replaced GET /search with GET /search/jql, which Server does not have. */
function searchOf(client: HttpClient, query: Record<string, string | number>, signal: AbortSignal) {
  let token: string | undefined;
  let start: number | null = null;
  const nextPage = async () => {
    const request = { route: "GET /search", query: { ...query, startAt: start ?? 0 }, schema: shapes.searchPage, signal };
    const { data } = await client.read(request);
    start = (start ?? 0) + data.issues.length;
    return { issues: data.issues, last: start >= (data.total ?? 0) || data.issues.length === 0 };
  };
  return async (): Promise<{ issues: readonly Issue[]; last: boolean }> => {
    if (start !== null) return nextPage();
    try {
      const request = { route: "GET /search/jql", query: { ...query, nextPageToken: token }, schema: shapes.searchPage, signal };
      const { data } = await client.read(request);
      token = data.nextPageToken ?? undefined;
      return { issues: data.issues, last: token === undefined };
    } catch (error) {
      if (token !== undefined || !(error instanceof PluginError) || error.code !== "not_found") throw error;
      return nextPage();
    }
  };
}

/** One event for the creation, for each entry of the history and for each comment since then. */
async function eventsOf(client: HttpClient, listed: Issue, since: number, signal: AbortSignal): Promise<PolledEvent[]> {
  const { changelog, fields: all, ...rest } = listed;
  const { comment: _, ...shown } = all;
  const issue = { ...rest, fields: shown };
  const events: PolledEvent[] = [];
  const created = timestampAt(shown, "created");
  if (created && Date.parse(created) >= since)
    events.push(polledEvent("gamma:issue_created", { issue, user: valueAt(shown, "creator") ?? null }, created));
  for (const history of changelog?.histories ?? []) {
    const when = timestampAt(history, "created");
    if (!when || Date.parse(when) < since) continue;
    const change = { id: history.id, items: history.items };
    events.push(polledEvent("gamma:issue_updated", { issue, user: history.author ?? null, changelog: change }, when));
  }
  for (const comment of await comments(client, listed, since, signal)) {
    const when = timestampAt(comment, "created") ?? created ?? "";
    events.push(polledEvent("comment_created", { issue, comment, user: comment.author ?? null }, when));
  }
  return events;
}

/** A search result contains only the first comments of an issue; if there are more, they are listed newest first. */
async function comments(client: HttpClient, found: Issue, since: number, signal: AbortSignal) {
  const field = shapes.comments.safeParse(found.fields.comment);
  const fresh = (list: z.output<typeof shapes.comments>) =>
    list.comments.filter((one) => Date.parse(timestampAt(one, "created") ?? "") >= since);
  if (field.success && field.data.total <= field.data.comments.length) return fresh(field.data);
  const query = { startAt: 0, maxResults: 100, orderBy: "-created" };
  const request = { route: "GET /issue/{key}/comment", path: { key: found.key }, query, schema: shapes.comments, signal };
  return fresh((await client.read(request)).data);
}

function polledEvent(webhookEvent: string, content: Record<string, unknown>, when: string): PolledEvent {
  const payload = JSON.parse(JSON.stringify({ webhookEvent, timestamp: Date.parse(when), ...content })) as Json;
  const key = changeKey(webhookEvent, payload);
  return { headers: key === null ? {} : { "x-gamma-webhook-identifier": `poll:${key}` }, payload, when };
}
