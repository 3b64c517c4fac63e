import { createHmac } from "node:crypto";
import type { Conformance, GoldenWebhook } from "@signalbox/sdk/testing";
import { bot, GiteaServer, token } from "./server.ts";
import closed from "./webhooks/issue-closed-forgejo.json" with { type: "json" };
import commented from "./webhooks/issue-commented.json" with { type: "json" };
import opened from "./webhooks/issue-opened.json" with { type: "json" };
import approved from "./webhooks/pull-request-approved.json" with { type: "json" };

const connection = (url: string) => ({ url, token });
const tracker = () => new GiteaServer().listen();
const about = { subject: { project: "octo/app", issue: "7" }, missing_field: null, marked: false };
const link = "https://gitea.example/octo/app/issues/7";

const golden: readonly GoldenWebhook[] = [
  {
    name: "an opened issue",
    ...opened,
    expect: {
      ...about,
      event_name: "issues",
      action: "opened",
      actor: "ann",
      incomplete: false,
      snapshot: false,
      delivery_id: "f6266f16-1bf3-46a5-9ea4-602e06ead473",
      title: "Login fails",
      text: `# Issue #7: Login fails\n\n- State: open\n- By: ann\n- Link: ${link}\n\nIt says 500 since this morning.`,
      occurred_at: "2026-01-31T09:30:00.000Z",
      change_key: "issues/opened/octo/app#7",
      author: { id: "5", name: "ann", kind: "human", standing: "unknown" },
    },
  },
  {
    name: "a comment",
    ...commented,
    expect: {
      ...about,
      event_name: "issue_comment",
      action: "created",
      actor: "bob",
      comment: "88",
      title: "Login fails",
      text: `# Issue #7: Login fails\n\n- State: open\n- By: bob\n- Link: ${link}\n\nIt says 500 since this morning.\n\n## Comment by bob\n\nSame here, on **Firefox**.`,
      occurred_at: "2026-01-31T09:00:00.000Z",
      comment_text: "Same here, on **Firefox**.",
      change_key: "issue_comment/created/octo/app#7/88",
    },
  },
  {
    name: "an issue that Forgejo's own account closed, with Forgejo's headers alone",
    ...closed,
    expect: {
      ...about,
      event_name: "issues",
      action: "closed",
      actor: "forgejo-actions",
      changes: ["state: open → closed"],
      delivery_id: "1f0e9d8c-7b6a-4958-8473-625140f3e2d1",
      author: { id: null, name: "forgejo-actions", kind: "bot", standing: "unknown" },
      change_key: "issues/closed/octo/app#7@2026-01-31T13:00:00.000Z",
    },
  },
  {
    name: "a review",
    ...approved,
    expect: {
      event_name: "pull_request_approved",
      action: "reviewed",
      subject: { project: "octo/app", issue: "9" },
      title: "Answer 500 no more",
      text: "# Pull request #9: Answer 500 no more\n\n- State: open\n- By: bob\n- From: fix-login\n- Into: main\n- Link: https://forgejo.example/octo/app/pulls/9\n\nFixes the login.\n\n## Approval by bob\n\nLooks right.",
    },
  },
];

export const conformance: Conformance = {
  sources: {
    gitea: {
      connection,
      tracker,
      golden,
      subject: about.subject,
      signature: {
        settings: { webhook_secret: "gitea-test-secret" },
        sign: (body) => ({ "x-gitea-signature": createHmac("sha256", "gitea-test-secret").update(body).digest("hex") }),
        covers_body: true,
      },
      delivery_header: "x-gitea-delivery",
      comment_event: (body) => ({
        headers: { "x-gitea-event": "issue_comment" },
        payload: { ...commented.payload, comment: { ...commented.payload.comment, body } },
      }),
      own_event: { headers: commented.headers, payload: { ...commented.payload, sender: bot } },
      // Forgejo sends the delivery id in the headers of each platform name; a retry has the same id.
      repetitions: [{ first: approved, again: { ...approved, headers: { ...approved.headers, "x-gogs-delivery": "another" } } }],
      envelopes: [opened, commented, closed, approved],
      // A review, and an edited comment.
      comment_places: [
        (body) => ({ ...approved, payload: { ...approved.payload, review: { ...approved.payload.review, content: body } } }),
        (body) => ({
          headers: commented.headers,
          payload: { ...commented.payload, action: "edited", comment: { ...commented.payload.comment, body } },
        }),
      ],
    },
  },
  tools: {
    connection,
    tracker,
    tools: {
      add_comment: {
        inputs: [
          { issue: 7, project: "octo/app", body: "Looking into it." },
          { issue: "octo/app#7", body: "Found it." },
        ],
        refused: [
          { issue: 7, body: "Where?" },
          { issue: "seven", project: "octo/app", body: "x" },
          { issue: 7, project: "octo", body: "x" },
          { issue: 7, project: "../app", body: "x" },
        ],
      },
      get_issue: {
        inputs: [{ issue: "#7", project: "octo/app" }],
        refused: [{ project: "octo/app" }, { issue: 0, project: "octo/app" }],
      },
      list_comments: { inputs: [{ issue: 7, project: "octo/app" }], refused: [{ issue: 7 }] },
      search_issues: { inputs: [{ query: "Login", project: "octo/app" }], refused: [{ query: "Login" }, { query: "" }] },
      update_description: { inputs: [{ issue: 7, project: "octo/app", description: "New." }], refused: [{ issue: 7 }] },
      update_labels: {
        inputs: [{ issue: 7, project: "octo/app", add: ["docs"], remove: ["bug"] }],
        refused: [{ issue: 7, project: "octo/app", add: ["no such label"] }],
      },
      update_state: {
        inputs: [{ issue: 7, project: "octo/app", state: "closed" }],
        refused: [{ issue: 7, project: "octo/app", state: "done" }],
      },
    },
  },
};
