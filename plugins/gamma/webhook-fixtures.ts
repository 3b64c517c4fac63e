import type { GoldenWebhook } from "@signalbox/sdk/testing";
import { goldenComments } from "./comment-fixtures.ts";

export const ann = { accountId: "5b10-ann", displayName: "Ann" };
const fields = {
  summary: "Crash at start",
  description: "It crashes.",
  issuetype: { name: "Bug" },
  priority: { name: "High" },
  status: { name: "To Do" },
  project: { key: "APP" },
  creator: ann,
  labels: ["urgent"],
  created: "2026-01-02T03:04:05.000+0000",
  updated: "2026-01-02T03:04:05.000+0000",
};
export const issue = { id: "10001", self: "https://yours.atlassian.net/rest/api/2/issue/10001", key: "APP-12", fields };
const facts =
  "- Type: Bug\n- State: To Do\n- Priority: High\n- Author: Ann\n- Labels: urgent\n- Link: https://yours.atlassian.net/browse/APP-12";

export const golden: readonly GoldenWebhook[] = [
  ...goldenComments,
  {
    name: "jira:issue_created",
    headers: { "x-atlassian-webhook-identifier": "d-1" },
    payload: {
      timestamp: 1767323045000,
      webhookEvent: "jira:issue_created",
      issue_event_type_name: "issue_created",
      user: ann,
      issue,
    },
    expect: {
      delivery_id: "d-1",
      event_name: "gamma:issue_created",
      action: null,
      subject: { project: "APP", issue: "APP-12" },
      actor: "5b10-ann",
      title: "Crash at start",
      text: `# Issue APP-12: Crash at start\n\n${facts}\n\nIt crashes.`,
      marked: false,
      occurred_at: "2026-01-02T03:04:05.000Z",
      missing_field: null,
      change_key: "yours.atlassian.net/APP-12/created",
    },
  },
  {
    name: "gamma:issue_created, only what service.md names",
    headers: {},
    payload: {
      webhookEvent: "gamma:issue_created",
      issue: {
        key: "APP-13",
        fields: {
          summary: "S",
          description: "D",
          issuetype: { name: "Task" },
          priority: { name: "Low" },
          status: { name: "Open" },
        },
      },
    },
    expect: {
      event_name: "gamma:issue_created",
      subject: { project: "APP", issue: "APP-13" },
      actor: null,
      title: "S",
      text: "# Issue APP-13: S\n\n- Type: Task\n- State: Open\n- Priority: Low\n\nD",
      missing_field: null,
      change_key: "APP-13/created",
    },
  },
  {
    name: "gamma:issue_updated, a move",
    headers: { "x-gamma-webhook-identifier": "d-2", "x-atlassian-webhook-identifier": "other" },
    payload: {
      webhookEvent: "gamma:issue_updated",
      user: { name: "ann", displayName: "Ann" },
      issue,
      changelog: { id: "10124", items: [{ field: "status", fromString: "To Do", toString: "In Progress" }] },
    },
    expect: {
      delivery_id: "d-2",
      event_name: "gamma:issue_updated",
      actor: "ann",
      title: "Crash at start",
      text: `# Issue APP-12: Crash at start\n\n${facts}\n\n## Changes\n\n- status: To Do → In Progress\n\nIt crashes.`,
      change_key: "yours.atlassian.net/APP-12/change/10124",
    },
  },
  {
    name: "an update whose change does not say from what",
    headers: {},
    payload: { webhookEvent: "jira:issue_updated", issue, changelog: { items: [{ field: "assignee" }] } },
    expect: {
      title: "Crash at start",
      text: `# Issue APP-12: Crash at start\n\n${facts}\n\n## Changes\n\n- assignee: none → none\n\nIt crashes.`,
      change_key: "yours.atlassian.net/APP-12/updated@2026-01-02T03:04:05",
    },
  },
  {
    name: "comment_created, a document",
    headers: {},
    payload: {
      timestamp: 1767323046000,
      webhookEvent: "comment_created",
      comment: {
        id: "301",
        author: ann,
        body: {
          type: "doc",
          version: 1,
          content: [{ type: "paragraph", content: [{ type: "text", text: "Me too.", marks: [{ type: "strong" }] }] }],
        },
        created: "2026-01-02T03:04:06.000+0000",
      },
      issue: { key: "APP-12", fields: { summary: "Crash at start" } },
    },
    expect: {
      event_name: "comment_created",
      subject: { project: "APP", issue: "APP-12" },
      actor: "5b10-ann",
      title: "Crash at start",
      text: "# Issue APP-12: Crash at start\n\n## Comment by Ann\n\n**Me too.**",
      missing_field: null,
      change_key: "APP-12/comment/301",
      occurred_at: "2026-01-02T03:04:06.000Z",
    },
  },
  {
    name: "comment_created, only what service.md names",
    headers: {},
    payload: {
      webhookEvent: "comment_created",
      comment: { id: "5", body: "Me too.", author: { displayName: "Ann" } },
      issue: { key: "APP-12" },
    },
    expect: { actor: null, text: "# Issue APP-12\n\n## Comment by Ann\n\nMe too.", missing_field: null },
  },
  {
    name: "an event that no mapping names",
    headers: {},
    payload: { webhookEvent: "jira:version_released", version: { id: 1 } },
    expect: {
      event_name: "gamma:version_released",
      subject: null,
      missing_field: null,
      text: "# Version\n\n- Event: gamma:version_released",
    },
  },
  { name: "no event", headers: {}, payload: { issue }, expect: { event_name: "", missing_field: "webhookEvent" } },
  {
    name: "an issue without a key",
    headers: {},
    payload: { webhookEvent: "gamma:issue_created", issue: { id: "1", fields } },
    expect: { missing_field: "issue.key", subject: null },
  },
  {
    name: "an issue key that contains a path",
    headers: {},
    payload: { webhookEvent: "gamma:issue_updated", issue: { key: "../APP-1", fields } },
    expect: { missing_field: "issue.key", subject: null },
  },
];
