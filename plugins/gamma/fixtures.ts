import { createHmac } from "node:crypto";
import { readMarker, stripMarker } from "@signalbox/sdk";
import type { GoldenWebhook, SourceFixtures, ToolFixtures } from "@signalbox/sdk/testing";
import { withMarker } from "./bodies.ts";
import { goldenComments } from "./comment-fixtures.ts";
import { markdownToWiki } from "./markdown-to-wiki.ts";
import { startTracker } from "./test-tracker.ts";

const secret = "webhook-secret-5f0c";
const token = "test-token-91ab";
const ann = { accountId: "5b10-ann", displayName: "Ann" };
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
const issue = { id: "10001", self: "https://yours.atlassian.net/rest/api/2/issue/10001", key: "APP-12", fields };
const facts =
  "- Type: Bug\n- State: To Do\n- Priority: High\n- Author: Ann\n- Labels: urgent\n- Link: https://yours.atlassian.net/browse/APP-12";

const golden: readonly GoldenWebhook[] = [
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

const connection = (url: string) => ({ url, email: "bot@example.com", api_token: token, is_cloud: "true" });
export const serverConnection = (url: string) => ({ url, api_token: token, is_cloud: "false" });

const trackerOf = (version: 2 | 3) => async () => {
  const started = await startTracker(version);
  started.addIssue("APP-12", "2026-01-02T03:04:05.678Z");
  return started;
};

/** The comment as the platform's webhook contains it: wiki markup with the invisible characters that were posted. */
const toldBody = (body: string): string => {
  const key = readMarker(body);
  return key === null
    ? markdownToWiki(body.replace(/<!-- signalbox:(\S+) -->/g, (_, inner) => String(withMarker("x", inner))))
    : String(withMarker(markdownToWiki(stripMarker(body)), key));
};

const ownEvent = (user: Record<string, string>) => ({
  headers: {},
  payload: { webhookEvent: "jira:issue_updated", user, issue },
});

const commentBy = (author: Record<string, string>, body: string) => ({
  webhookEvent: "comment_created",
  comment: { id: "5", author, body: toldBody(body) },
  issue,
});

export const sourceFixtures: SourceFixtures = {
  connection,
  signature: {
    settings: { webhook_secret: secret },
    sign: (body) => ({ "x-hub-signature": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` }),
    covers_body: true,
  },
  golden,
  delivery_header: "x-gamma-webhook-identifier",
  comment_event: (body) => ({ headers: {}, payload: commentBy(ann, body) }),
  own_event: ownEvent({ accountId: "5b10-bot", displayName: "Signalbox" }),
  // A retry has the identifier of the first delivery, and a header that counts.
  repetitions: [
    {
      first: { headers: { "x-atlassian-webhook-identifier": "d-7" }, payload: commentBy(ann, "Me too.") },
      again: {
        headers: { "x-atlassian-webhook-identifier": "d-7", "x-atlassian-webhook-retry": "1" },
        payload: commentBy(ann, "Me too."),
      },
    },
  ],
  envelopes: [
    { headers: {}, payload: { webhookEvent: "jira:issue_created", user: ann, issue } },
    { headers: {}, payload: { webhookEvent: "jira:issue_updated", user: ann, issue } },
    { headers: {}, payload: commentBy(ann, "Me too.") },
  ],
  // Server reports comments as updates of their issue.
  comment_places: [
    (body) => ({
      headers: {},
      payload: {
        ...commentBy(ann, body),
        webhookEvent: "jira:issue_updated",
        issue_event_type_name: "issue_commented",
        user: ann,
      },
    }),
  ],
  private_event: {
    headers: {},
    payload: { ...commentBy(ann, "For the team."), comment: { ...commentBy(ann, "x").comment, jsdPublic: false } },
  },
  subject: { project: "APP", issue: "APP-12" },
  tracker: trackerOf(3),
};
export const serverFixtures: SourceFixtures = {
  ...sourceFixtures,
  connection: serverConnection,
  tracker: trackerOf(2),
  own_event: ownEvent({ name: "signalbox-bot", key: "JIRAUSER1", displayName: "Signalbox" }),
};

const at = { issue: "APP-12" };
const refused = [{ issue: "twelve" }, { issue: 12 }, { issue: "../APP-12" }, {}];
export const toolFixtures: ToolFixtures = {
  connection: (url) => ({ url, email: "bot@example.com", api_token: token, is_cloud: true }),
  secrets: [token],
  tracker: trackerOf(3),
  tools: {
    add_comment: {
      inputs: [
        { ...at, body: "Hello." },
        { issue: 12, project: "APP", body: "# x" },
        { issue: "app-12", body: "```\ncode\n```" },
      ],
      refused: [{ ...at }, { ...at, body: "" }, ...refused.map((one) => ({ ...one, body: "x" }))],
    },
    update_description: {
      inputs: [
        { ...at, description: "New text." },
        { ...at, description: "" },
      ],
      refused: [{ ...at }, ...refused.map((one) => ({ ...one, description: "x" }))],
    },
    get_issue: { inputs: [at, { issue: "12", project: "APP" }], refused },
    transition_issue: {
      inputs: [
        { ...at, transition: "21" },
        { ...at, transition: "start WORK" },
        { ...at, transition: "Done" },
      ],
      refused: [{ ...at }, { ...at, transition: "" }, ...refused.map((one) => ({ ...one, transition: "21" }))],
    },
  },
};
/** Tools for Server and Data Center, which have the other version of the API. */
export const serverToolFixtures: ToolFixtures = {
  ...toolFixtures,
  connection: (url) => ({ url, api_token: token, is_cloud: false }),
  tracker: trackerOf(2),
};
