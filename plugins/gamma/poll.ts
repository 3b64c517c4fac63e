import {
  type HttpClient,
  type Json,
  PluginError,
  type PollBatch,
  readableItems,
  timestampAt,
  type UnreadableItem,
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

/** A list that has advanced by so much is requested anew, from there. Milliseconds. */
const windowMs = 60_000;
/** Rows of the page before that a numbered page begins with, because changed issues move to the end and the others up. */
const steppedBack = 20;

/**
 * `from`: events before this time have been reported. `at`: `updated` of the last issue that was read. `rest`: more issues were left,
 * so the next poll continues there: after the issues `done`, which have this time.
 */
const cursorShape = z.object({
  v: z.literal(1),
  from: z.string(),
  at: z.string(),
  rest: z.object({ done: z.array(z.string()) }).optional(),
});
type Cursor = z.output<typeof cursorShape>;
type Issue = z.output<typeof shapes.changedIssue>;
interface PolledEvent extends WebhookPayload {
  readonly when: string;
}
interface PollContext {
  readonly client: HttpClient;
  readonly signal: AbortSignal;
  /** What could not be read so far. */
  readonly unreadable: UnreadableItem[];
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
  const context: PollContext = { client, signal, unreadable: [] };
  const { issues, isComplete } = await listChanged(context, project, cursor);
  const found: PolledEvent[] = [];
  for (const issue of issues) found.push(...(await eventsOf(context, issue, Date.parse(cursor.from))));
  const newestTime = [...issues.map(updatedAt), cursor.at].sort().at(-1) ?? cursor.at;
  const earlier = newestTime === cursor.at ? (cursor.rest?.done ?? []) : [];
  const done = [...earlier, ...issues.filter((issue) => updatedAt(issue) === newestTime).map(({ key }) => key)];
  const nextCursor: Cursor = isComplete
    ? { v: 1, from: withOverlap(newestTime), at: newestTime }
    : { v: 1, from: cursor.from, at: newestTime, rest: { done } };
  const events = found.sort((a, b) => a.when.localeCompare(b.when)).map(({ headers, payload }) => ({ headers, payload }));
  return { events, cursor: JSON.stringify(nextCursor), unreadable: context.unreadable };
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

const updatedAt = (issue: Issue): string => timestampAt(issue, "fields", "updated") ?? "";

/**
 * Lists issues by time of change. The query language knows absolute times only to the minute and in the time zone of the
 * account, so relative minutes are used. Pages are requested by time where possible: an issue that changes meanwhile moves to the end of
 * the list, and numbered pages would then skip its successor.
 */
async function listChanged(context: PollContext, project: string, { at, rest }: Cursor) {
  const first = Date.parse(at) - (rest ? 0 : overlap);
  const found = new Map<string, Issue>();
  const isNew = (issue: Issue): boolean => {
    const time = updatedAt(issue);
    const known = found.get(issue.key);
    return Date.parse(time) >= first && !(time === at && rest?.done.includes(issue.key)) && !(known && updatedAt(known) === time);
  };
  let newestMs = first;
  for (;;) {
    const fromMs = newestMs;
    const minutes = Math.max(1, Math.ceil((Date.now() - fromMs) / 60_000) + 1);
    const jql = `project = "${project}" AND updated >= "-${minutes}m" ORDER BY updated ASC`;
    const search = searchOf(context, { jql, fields, expand: "changelog", maxResults: 100 });
    while (newestMs - fromMs <= windowMs) {
      const page = await search();
      const readable = readableItems(shapes.changedIssue, page.issues, "issues", context.unreadable);
      for (const issue of readable.filter(isNew)) {
        // Of an issue that was read before, only the newer state.
        found.delete(issue.key);
        found.set(issue.key, issue);
        newestMs = Math.max(newestMs, Date.parse(updatedAt(issue)));
      }
      if (page.last || found.size >= maxIssues) return { issues: [...found.values()], isComplete: page.last };
    }
  }
}

/** Reads the pages of a query, one with each call. Cloud has replaced GET /search with GET /search/jql, which Server does not have. */
function searchOf({ client, signal }: PollContext, query: Record<string, string | number>) {
  let token: string | undefined;
  let read: number | null = null;
  let size = 0;
  const nextPage = async () => {
    const before = read ?? 0;
    const startAt = before - Math.min(steppedBack, Math.floor(size / 2));
    const request = { route: "GET /search", query: { ...query, startAt }, schema: shapes.searchPage, signal };
    const { data } = await client.read(request);
    size = data.issues.length;
    read = startAt + size;
    return { issues: data.issues, last: read >= (data.total ?? 0) || read <= before };
  };
  return async (): Promise<{ issues: readonly unknown[]; last: boolean }> => {
    if (read !== null) return nextPage();
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
async function eventsOf(context: PollContext, listed: Issue, since: number): Promise<PolledEvent[]> {
  const { changelog, fields: all, ...rest } = listed;
  const { comment: _, ...shown } = all;
  const issue = { ...rest, fields: shown };
  const events: PolledEvent[] = [];
  const created = timestampAt(shown, "created");
  if (created && Date.parse(created) >= since)
    events.push(polledEvent("gamma:issue_created", { issue, user: valueAt(shown, "creator") ?? null }, created));
  const what = `history of issue ${listed.key}`;
  const histories = changelog ? readableItems(shapes.history, changelog.histories, what, context.unreadable) : [];
  for (const history of histories) {
    const when = timestampAt(history, "created") ?? "";
    if (Date.parse(when) < since) continue;
    const change = { id: history.id, items: history.items };
    events.push(polledEvent("gamma:issue_updated", { issue, user: history.author ?? null, changelog: change }, when));
  }
  for (const comment of await comments(context, listed, since)) {
    const when = timestampAt(comment, "created") ?? "";
    events.push(polledEvent("comment_created", { issue, comment, user: comment.author ?? null }, when));
  }
  return events;
}

/** A search result contains only the first comments of an issue; if there are more, they are listed newest first. */
async function comments({ client, signal, unreadable }: PollContext, found: Issue, since: number) {
  const field = shapes.polledComments.safeParse(found.fields.comment);
  const fresh = (list: unknown) =>
    readableItems(shapes.polledComment, list, `comments of issue ${found.key}`, unreadable).filter(
      (one) => Date.parse(one.created) >= since,
    );
  const listed = field.success ? field.data.comments : null;
  if (field.success && Array.isArray(listed) && field.data.total <= listed.length) return fresh(listed);
  const query = { startAt: 0, maxResults: 100, orderBy: "-created" };
  const request = { route: "GET /issue/{key}/comment", path: { key: found.key }, query, schema: shapes.anything, signal };
  return fresh(valueAt((await client.read(request)).data, "comments"));
}

function polledEvent(webhookEvent: string, content: Record<string, unknown>, when: string): PolledEvent {
  const payload = JSON.parse(JSON.stringify({ webhookEvent, timestamp: Date.parse(when), ...content })) as Json;
  const key = changeKey(webhookEvent, payload);
  return { headers: key === null ? {} : { "x-gamma-webhook-identifier": `poll:${key}` }, payload, when };
}
