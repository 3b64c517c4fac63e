import { type Json, type PollBatch, readableItems, timeText, type UnreadableItem, type WebhookPayload } from "@signalbox/sdk";
import { z } from "zod";
import { teamOf } from "./address.ts";
import type { Account } from "./comments.ts";
import { actorOf, createdEvent } from "./issues.ts";
import * as shapes from "./shapes.ts";

/**
 * Pages of 50 per list and poll; the next poll continues from there. With their history, 50 issues cost about 2,000 points of
 * complexity.
 */
const maxPages = 10;
/** Changes younger than this are read again; those already reported are recognised by their key. Milliseconds. */
const overlap = 60_000;

/**
 * Position in one list. Linear lists the newest change first. `from`: older changes have been reported. `head`: the newest change
 * of a sweep that was cut short at `after`.
 */
const position = z.object({ from: z.string(), head: z.string().nullable(), after: z.string().nullable() });
type Position = z.output<typeof position>;
const cursorShape = z.object({ v: z.literal(1), issues: position, comments: position });

const change = z.looseObject({
  createdAt: timeText,
  actor: shapes.person.nullish(),
  fromState: z.object({ name: z.string() }).nullish(),
  toState: z.object({ name: z.string() }).nullish(),
  addedLabels: z.array(z.object({ name: z.string() })).nullish(),
  removedLabels: z.array(z.object({ name: z.string() })).nullish(),
  fromTitle: z.string().nullish(),
  toTitle: z.string().nullish(),
  updatedDescription: z.boolean().nullish(),
});
const changedIssue = shapes.issue.extend({
  createdAt: timeText,
  updatedAt: timeText,
  history: z.object({ nodes: z.unknown() }),
});
const newComment = shapes.comment.extend({
  createdAt: timeText,
  updatedAt: timeText,
  parent: z.object({ id: z.string() }).nullish(),
  issue: z.object({ id: z.string(), identifier: z.string(), title: z.string(), url: z.string(), team: shapes.team }).nullish(),
  externalUser: z.object({ id: z.string(), name: z.string().nullish() }).nullish(),
});
type Change = z.output<typeof change>;
type PolledEvent = WebhookPayload & { readonly when: string };

/** Reads the changes of a team as the events that its webhooks would have sent. */
export async function poll(
  account: Account,
  from: { project: string; since: string; cursor: string | null },
): Promise<PollBatch> {
  const team = teamOf(from.project);
  const cursor = cursorOf(from.cursor, from.since);
  const unreadable: UnreadableItem[] = [];
  const issueList = { item: changedIssue, what: "issues", read: (start: Position) => issuePage(account, team, start) };
  const issues = await sweep(cursor.issues, issueList, unreadable);
  const commentList = { item: newComment, what: "comments", read: (start: Position) => commentPage(account, team, start) };
  const comments = await sweep(cursor.comments, commentList, unreadable);
  const found = [
    ...issues.items.flatMap((item) => issueEvents(item, cursor.issues.from, unreadable)),
    ...comments.items.flatMap((item) => commentEvent(item)),
  ].toSorted((a, b) => Date.parse(a.when) - Date.parse(b.when));
  const end = { v: 1, issues: issues.end, comments: comments.end };
  return { events: found.map(({ headers, payload }) => ({ headers, payload })), cursor: JSON.stringify(end), unreadable };
}

function cursorOf(text: string | null, since: string): z.output<typeof cursorShape> {
  try {
    return cursorShape.parse(JSON.parse(text ?? ""));
  } catch {
    const start: Position = { from: new Date(since).toISOString(), head: null, after: null };
    return { v: 1, issues: start, comments: start };
  }
}

interface Page {
  readonly nodes: readonly unknown[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor?: string | null | undefined };
}

interface List<T> {
  readonly item: z.ZodType<T>;
  readonly what: string;
  readonly read: (start: Position) => Promise<Page>;
}

/** Reads a list to its end, or as many pages as one poll may. */
async function sweep<T extends { id: string; updatedAt: string }>(
  start: Position,
  { item, what, read }: List<T>,
  unreadable: UnreadableItem[],
): Promise<{ items: T[]; end: Position }> {
  const items = new Map<string, T>();
  let { head, after } = start;
  for (let count = 0; count < maxPages; count++) {
    const { nodes, pageInfo } = await read({ ...start, after });
    for (const node of readableItems(item, nodes, what, unreadable)) {
      if (!items.has(node.id)) items.set(node.id, node);
      if (head === null || Date.parse(node.updatedAt) > Date.parse(head)) head = node.updatedAt;
    }
    after = pageInfo.endCursor ?? null;
    if (!pageInfo.hasNextPage || after === null) {
      const next = head === null ? Date.parse(start.from) : Math.max(Date.parse(head) - overlap, Date.parse(start.from));
      return { items: [...items.values()], end: { from: new Date(next).toISOString(), head: null, after: null } };
    }
  }
  return { items: [...items.values()], end: { ...start, head, after } };
}

async function issuePage({ client, signal }: Account, team: string, { from, after }: Position) {
  const document = `query ChangedIssues($filter: IssueFilter, $after: String) {
    issues(first: 50, after: $after, orderBy: updatedAt, filter: $filter) {
      nodes {
        ${shapes.issueFields}
        history(first: 10) { nodes {
          createdAt actor { id name displayName } fromState { name } toState { name } addedLabels { name } removedLabels { name }
          fromTitle toTitle updatedDescription
        } }
      }
      pageInfo { hasNextPage endCursor }
    }
  }`;
  const variables = { after, filter: { team: { key: { eq: team } }, updatedAt: { gte: from } } };
  return (await client.query({ document, variables, data: z.object({ issues: shapes.page(z.unknown()) }) }, signal)).issues;
}

async function commentPage({ client, signal }: Account, team: string, { from, after }: Position) {
  const document = `query NewComments($filter: CommentFilter, $after: String) {
    comments(first: 50, after: $after, orderBy: createdAt, filter: $filter) {
      nodes {
        ${shapes.commentFields} updatedAt parent { id } externalUser { id name }
        issue { id identifier title url team { id key name } }
      }
      pageInfo { hasNextPage endCursor }
    }
  }`;
  const variables = { after, filter: { issue: { team: { key: { eq: team } } }, createdAt: { gte: from } } };
  return (await client.query({ document, variables, data: z.object({ comments: shapes.page(z.unknown()) }) }, signal)).comments;
}

/** The creation of an issue, and one change with everything in its history since `from`. */
function issueEvents(item: z.output<typeof changedIssue>, from: string, unreadable: UnreadableItem[]): PolledEvent[] {
  const { history, ...issue } = item;
  const created = createdEvent(issue);
  const isNew = Date.parse(issue.createdAt) >= Date.parse(from);
  const events = isNew ? [withChangeKey(created, `Issue/create/${issue.identifier}`, issue.createdAt)] : [];
  const histories = readableItems(change, history.nodes, `history of issue ${issue.identifier}`, unreadable);
  const changes = histories.filter(({ createdAt }) => Date.parse(createdAt) >= Date.parse(from));
  const lines = changes.flatMap(linesOf);
  const last = changes.toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt))[0];
  if (lines.length === 0 || !last) return events;
  const previousState = changes.some(({ toState }) => toState) ? { stateId: null } : {};
  const payload = {
    ...(created.payload as Record<string, Json>),
    action: "update",
    actor: actorOf(last.actor),
    createdAt: last.createdAt,
    changes: lines,
    updatedFrom: previousState,
  };
  return [
    ...events,
    withChangeKey(
      { ...created, payload },
      `Issue/update/${issue.identifier}@${new Date(issue.updatedAt).toISOString()}`,
      issue.updatedAt,
    ),
  ];
}

function linesOf({ fromState, toState, addedLabels, removedLabels, fromTitle, toTitle, updatedDescription }: Change): string[] {
  return [
    ...(toState ? [`state: ${fromState?.name ?? "none"} → ${toState.name}`] : []),
    ...(addedLabels ?? []).map(({ name }) => `label added: ${name}`),
    ...(removedLabels ?? []).map(({ name }) => `label removed: ${name}`),
    ...(toTitle ? [`title: ${fromTitle ?? "none"} → ${toTitle}`] : []),
    ...(updatedDescription ? ["description changed"] : []),
  ];
}

/** A comment on something else than an issue has no subject. */
function commentEvent({ parent, user, externalUser, ...comment }: z.output<typeof newComment>): PolledEvent[] {
  if (!comment.issue) return [];
  const outside = user ? {} : { externalUserId: externalUser?.id ?? null, externalUser };
  const data = {
    ...comment,
    issueId: comment.issue.id,
    parentId: parent?.id ?? null,
    userId: user?.id ?? null,
    user,
    ...outside,
  };
  const payload = {
    action: "create",
    type: "Comment",
    actor: actorOf(user),
    createdAt: comment.createdAt,
    data,
    url: comment.url,
  };
  return [
    withChangeKey(
      { headers: { "linear-event": "Comment" }, payload: payload as unknown as Json },
      `Comment/create/${comment.id}`,
      comment.createdAt,
    ),
  ];
}

function withChangeKey({ headers, payload }: WebhookPayload, key: string, when: string): PolledEvent {
  const clean = JSON.parse(JSON.stringify(payload)) as Json;
  return { headers: { ...headers, "linear-delivery": `poll:${key}` }, payload: clean, when };
}
