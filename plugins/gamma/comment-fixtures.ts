import type { Json } from "@signalbox/sdk";
import type { GoldenWebhook } from "@signalbox/sdk/testing";

const ann = { accountId: "5b10-ann", displayName: "Ann" };
const site = "https://jira.example.com/rest/api/2";
const shownText = "# Issue APP-12: Crash at start\n\n- Link: https://jira.example.com/browse/APP-12";
const bob = { name: "bob", key: "JIRAUSER3", displayName: "Bob" };
const times = { created: "2026-01-02T03:04:06.000+0000", updated: "2026-01-02T03:04:06.000+0000" };
const bobsComment = {
  self: `${site}/issue/10001/comment/301`,
  id: "301",
  author: bob,
  updateAuthor: bob,
  body: "Me too.",
  ...times,
};
const serverUpdate = (more: Record<string, Json>) => ({
  webhookEvent: "jira:issue_updated",
  user: bob,
  issue: { id: "10001", self: `${site}/issue/10001`, key: "APP-12", fields: { summary: "Crash at start" } },
  ...more,
});
const cloudComment = (more: Record<string, Json>) => ({
  webhookEvent: "comment_created",
  comment: { id: "301", author: { ...ann, accountType: "atlassian" }, body: "Me too.", ...times, ...more },
  issue: { key: "APP-12", fields: { summary: "Crash at start" } },
});

/** As Server and Data Center send them, and what service projects add. */
export const goldenComments: readonly GoldenWebhook[] = [
  {
    name: "a comment on Server, which is an update of its issue",
    headers: {},
    payload: serverUpdate({ issue_event_type_name: "issue_commented", comment: bobsComment }),
    expect: {
      event_name: "comment_created",
      subject: { project: "APP", issue: "APP-12" },
      actor: "bob",
      author: { id: "bob", name: "bob", kind: "unknown", standing: "unknown" },
      text: `${shownText}\n\n## Comment by Bob\n\nMe too.`,
      change_key: "jira.example.com/comment/301",
      comment: "301",
      snapshot: false,
      private: false,
      missing_field: null,
    },
  },
  {
    name: "the second webhook of that comment, without its issue",
    headers: {},
    payload: { webhookEvent: "comment_created", comment: bobsComment },
    expect: {
      subject: { project: "-", issue: "10001" },
      actor: "bob",
      change_key: "jira.example.com/comment/301",
      missing_field: null,
      incomplete: true,
    },
  },
  {
    name: "an edited comment on a Server without issue_event_type_name",
    headers: {},
    payload: serverUpdate({ comment: { ...bobsComment, updated: "2026-01-02T03:09:00.000+0000" } }),
    expect: { event_name: "comment_updated", change_key: null },
  },
  {
    name: "a deleted comment on Server",
    headers: {},
    payload: serverUpdate({ issue_event_type_name: "issue_comment_deleted" }),
    expect: { event_name: "comment_deleted", text: `${shownText}\n\n## Changes\n\n- comment: deleted`, comment: null },
  },
  {
    name: "a move with a comment on Server",
    headers: {},
    payload: serverUpdate({
      issue_event_type_name: "issue_resolved",
      comment: bobsComment,
      changelog: { id: "10125", items: [{ field: "status", fromString: "In Progress", toString: "Done" }] },
    }),
    expect: {
      event_name: "gamma:issue_updated",
      changes: ["status: In Progress → Done"],
      snapshot: false,
      text: `${shownText}\n\n## Changes\n\n- status: In Progress → Done\n\n## Comment by Bob\n\nMe too.`,
    },
  },
  {
    name: "an internal note of a service project",
    headers: {},
    payload: cloudComment({ jsdPublic: false }),
    expect: {
      private: true,
      thread: null,
      author: { id: "5b10-ann", name: "Ann", kind: "human", standing: "collaborator" },
    },
  },
  {
    name: "a comment of a customer",
    headers: {},
    payload: cloudComment({ jsdPublic: true, author: { ...ann, accountType: "customer" } }),
    expect: { private: false, author: { id: "5b10-ann", name: "Ann", kind: "human", standing: "none" } },
  },
  {
    name: "a comment of an app",
    headers: {},
    payload: cloudComment({ author: { ...ann, accountType: "app" } }),
    expect: { author: { id: "5b10-ann", name: "Ann", kind: "app", standing: "unknown" } },
  },
  {
    name: "a comment that only a role can read",
    headers: {},
    payload: cloudComment({ visibility: { type: "role", value: "Administrators" } }),
    expect: { private: true, thread: '{"type":"role","value":"Administrators"}' },
  },
  {
    name: "an issue with a security level",
    headers: {},
    payload: serverUpdate({ issue: { key: "APP-12", fields: { summary: "S", security: { id: "10001", name: "Staff" } } } }),
    expect: { private: true, thread: null, snapshot: true },
  },
  {
    name: "a work log, which has only the id of its issue",
    headers: {},
    payload: {
      webhookEvent: "worklog_created",
      worklog: { issueId: "10001", id: "9", author: ann, timeSpent: "1w", comment: "Looked *into* it", ...times },
    },
    expect: {
      subject: { project: "-", issue: "10001" },
      actor: "5b10-ann",
      text: "# Issue\n\n## Work log by Ann\n\n- Time spent: 1w\n\nLooked **into** it",
      missing_field: null,
    },
  },
  {
    name: "an attachment",
    headers: {},
    payload: {
      webhookEvent: "attachment_created",
      attachment: { id: "7", filename: "shot.png", author: ann, mimeType: "image/png", size: 12, created: times.created },
      issue: { key: "APP-12", fields: { summary: "Crash at start" } },
    },
    expect: {
      actor: "5b10-ann",
      text: "# Issue APP-12: Crash at start\n\n## Attachment by Ann\n\n- File: shot.png\n- Type: image/png\n- Bytes: 12",
      occurred_at: "2026-01-02T03:04:06.000Z",
    },
  },
  {
    name: "a delivery for webhooks of an app",
    headers: {},
    payload: serverUpdate({ matchedWebhookIds: [12, 13] }),
    expect: { hook_id: "12,13" },
  },
];
