import { type Json, type PollBatch, readableItems, type UnreadableItem, valueAt, type WebhookPayload } from "@signalbox/sdk";
import { z } from "zod";
import { repositoryOf } from "./address.ts";
import type { ClientOf } from "./client.ts";
import type { GiteaCall } from "./comments.ts";
import { eventOf } from "./issues.ts";
import * as shapes from "./shapes.ts";

/** Pages of 50, the most that servers return by default. */
const pageSize = 50;
const maxPages = 20;
/** Changes younger than this are read again; those already reported are recognised by their key. Milliseconds. */
const overlap = 60_000;

/**
 * `from`: older changes have been reported. `page`: where a list that was cut short continues. `head`: the newest change of such
 * a sweep.
 */
const position = z.object({ from: z.string(), head: z.string().nullable(), page: z.int().positive() });
type Position = z.output<typeof position>;
const cursorShape = z.object({ v: z.literal(1), issues: position, comments: position });
type PolledEvent = WebhookPayload & { readonly when: string };

/** Reads openings, closes and comments as the events that webhooks would have sent. The API does not report other changes. */
export async function poll(
  client: ClientOf,
  from: { project: string; since: string; cursor: string | null },
  call: GiteaCall,
): Promise<PollBatch> {
  const path = repositoryOf(from.project);
  const cursor = cursorOf(from.cursor, from.since);
  const unreadable: UnreadableItem[] = [];
  const list = <T extends Changed>(where: string, item: z.ZodType<T>, start: Position) => {
    const read = (found: unknown[]) => readableItems(item, found, where === "" ? "issues" : "comments", unreadable);
    return sweep(start, read, async (page) => {
      const query = { since: start.from, state: "all", limit: pageSize, page };
      const request = {
        route: `GET /repos/{owner}/{repo}/issues${where}`,
        path,
        query,
        schema: z.array(z.unknown()),
        signal: call.signal,
      };
      return (await client(call.connection).read(request)).data;
    });
  };
  const issues = await list("", shapes.polledIssue, cursor.issues);
  const comments = await list("/comments", shapes.polledComment, cursor.comments);
  const project = spellingOf(from.project, [...issues.items, ...comments.items]);
  const found = [
    ...issues.items.flatMap((item) => issueEvents(item, project, cursor.issues.from)),
    ...comments.items.flatMap((item) => commentEvents(item, project, cursor.comments.from)),
  ].toSorted((a, b) => Date.parse(a.when) - Date.parse(b.when));
  const events = [...new Map(found.map((event) => [event.headers["x-gitea-delivery"], event])).values()];
  const end = { v: 1, issues: issues.end, comments: comments.end };
  return { events: events.map(({ headers, payload }) => ({ headers, payload })), cursor: JSON.stringify(end), unreadable };
}

/** The repository as the platform spells it, so that a webhook and a poll name the same issue, whatever the case in the settings. */
function spellingOf(repository: string, items: readonly { readonly html_url: string }[]): string {
  const names = items.map(({ html_url }) => /([^/]+\/[^/]+)\/(?:issues|pulls)\/\d+/.exec(html_url)?.[1]);
  return names.find((name) => name?.toLowerCase() === repository.toLowerCase()) ?? repository;
}

function cursorOf(text: string | null, since: string): z.output<typeof cursorShape> {
  try {
    return cursorShape.parse(JSON.parse(text ?? ""));
  } catch {
    const start: Position = { from: new Date(since).toISOString(), head: null, page: 1 };
    return { v: 1, issues: start, comments: start };
  }
}

interface Changed {
  readonly updated_at?: string | null | undefined;
}

async function sweep<T extends Changed>(
  start: Position,
  readable: (found: unknown[]) => T[],
  read: (page: number) => Promise<unknown[]>,
) {
  const items: T[] = [];
  let { head, page } = start;
  for (let count = 0; count < maxPages; count++, page++) {
    const found = await read(page);
    const sound = readable(found);
    items.push(...sound);
    for (const { updated_at } of sound)
      if (updated_at && (head === null || Date.parse(updated_at) > Date.parse(head))) head = updated_at;
    if (found.length > 0) continue;
    const next = head === null ? Date.parse(start.from) : Math.max(Date.parse(head) - overlap, Date.parse(start.from));
    return { items, end: { from: new Date(next).toISOString(), head: null, page: 1 } };
  }
  return { items, end: { ...start, head, page } };
}

const since = (when: string | null | undefined, from: string): when is string =>
  typeof when === "string" && Date.parse(when) >= Date.parse(from);

function issueEvents(item: shapes.Issue, project: string, from: string): PolledEvent[] {
  const at = `${project}#${item.number}`;
  const events: PolledEvent[] = [];
  const add = (action: string, key: string, when: string, shown: shapes.Issue) => {
    const event = eventOf(action, shown, project);
    events.push({ ...event, headers: { ...event.headers, "x-gitea-delivery": `poll:${key}` }, when });
  };
  if (since(item.created_at, from)) add("opened", `opened/${at}`, item.created_at, item);
  // The API does not say who closed it.
  if (since(item.closed_at, from)) {
    const shown = { ...item, user: null };
    add("closed", `closed/${at}@${item.closed_at}`, item.closed_at, shown);
  }
  return events;
}

function commentEvents(comment: shapes.Comment, project: string, from: string): PolledEvent[] {
  const number = /\/(?:issues|pulls)\/(\d+)$/.exec(
    String(valueAt(comment, "issue_url") || valueAt(comment, "pull_request_url") || ""),
  )?.[1];
  if (!number || !since(comment.created_at, from)) return [];
  const isPull = Boolean(valueAt(comment, "pull_request_url"));
  const issue = { number: Number(number) };
  const payload = {
    action: "created",
    issue,
    comment,
    repository: { full_name: project },
    sender: comment.user,
    is_pull: isPull,
  };
  const headers = { "x-gitea-event": "issue_comment", "x-gitea-delivery": `poll:comment/${project}#${number}/${comment.id}` };
  return [{ headers, payload: JSON.parse(JSON.stringify(payload)) as Json, when: comment.created_at }];
}
