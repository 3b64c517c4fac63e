import { createHmac } from "node:crypto";
import type { GoldenWebhook, SourceFixtures, ToolFixtures } from "@signalbox/sdk/testing";
import { startTracker } from "./test-tracker.ts";

const secret = "webhook-secret-5f0c";
const token = "test-token-91ab";
const repository = { full_name: "octo/app" };
const issue = {
  number: 12,
  title: "Crash at start",
  body: "It crashes.",
  state: "open",
  user: { login: "ann" },
  labels: [{ name: "bug" }, { name: "urgent" }],
  created_at: "2026-01-02T03:04:05Z",
  updated_at: "2026-01-02T03:04:05Z",
};
const pull = { ...issue, number: 7, title: "Mend it", head: { ref: "fix" }, base: { ref: "main" }, merged: false };

const webhookOf = (event: string, payload: object) => ({
  headers: { "x-github-event": event },
  payload: { action: "created", repository, sender: { login: "ann" }, ...payload },
});

const golden: readonly GoldenWebhook[] = [
  {
    name: "issues opened",
    headers: { "x-alpha-event": "issues", "x-github-event": "ping", "x-github-delivery": "d-1" },
    payload: { action: "opened", issue, repository, sender: { login: "ann" } },
    expect: {
      delivery_id: "d-1",
      event_name: "issues",
      action: "opened",
      subject: { project: "octo/app", issue: "12" },
      actor: "ann",
      title: "Crash at start",
      text: "# Issue #12: Crash at start\n\n- State: open\n- Author: ann\n- Labels: bug, urgent\n\nIt crashes.",
      marked: false,
      occurred_at: "2026-01-02T03:04:05.000Z",
      missing_field: null,
      change_key: "issues/opened/octo/app#12",
    },
  },
  {
    name: "pull_request closed",
    headers: { "x-github-event": "pull_request", "x-alpha-delivery": "d-2" },
    payload: { action: "closed", pull_request: { ...pull, merged: true, closed_at: "2026-01-03T00:00:00Z" }, repository },
    expect: {
      delivery_id: "d-2",
      event_name: "pull_request",
      actor: "ann",
      title: "Mend it",
      text: "# Pull request #7: Mend it\n\n- State: merged\n- Author: ann\n- Labels: bug, urgent\n- From: fix\n- Into: main\n\n## Changes\n\n- state: open → merged\n\nIt crashes.",
      change_key: "pull_request/closed/octo/app#7@2026-01-03T00:00:00.000Z",
      occurred_at: "2026-01-03T00:00:00.000Z",
    },
  },
  {
    name: "issue_comment created, only what service.md names",
    headers: { "x-alpha-event": "issue_comment" },
    payload: { action: "created", issue: { number: 12 }, comment: { id: 5, body: "Me too." }, repository },
    expect: {
      delivery_id: null,
      subject: { project: "octo/app", issue: "12" },
      actor: null,
      text: "# Issue #12\n\n## Comment\n\nMe too.",
      missing_field: null,
      change_key: "issue_comment/created/octo/app/5",
    },
  },
  {
    name: "pull_request_review submitted",
    headers: { "x-alpha-event": "pull_request_review" },
    payload: {
      action: "submitted",
      review: { state: "approved", body: "Fine.", user: { login: "eve" }, submitted_at: "2026-01-04T00:00:00Z" },
      pull_request: pull,
      repository,
      sender: { login: "eve" },
    },
    expect: {
      subject: { project: "octo/app", issue: "7" },
      actor: "eve",
      missing_field: null,
      occurred_at: "2026-01-04T00:00:00.000Z",
    },
  },
  {
    name: "deployment_status",
    headers: { "x-alpha-event": "deployment_status" },
    payload: {
      action: "created",
      deployment_status: { state: "success", environment: "production", description: "Done" },
      deployment: { ref: "main", sha: "abc" },
      repository,
      sender: { login: "ci" },
    },
    expect: {
      subject: null,
      actor: "ci",
      text: "# Deployment to production\n\n- State: success\n- Ref: main\n- Commit: abc\n\nDone",
      missing_field: null,
    },
  },
  {
    name: "an event that no mapping names",
    headers: { "x-alpha-event": "star" },
    payload: { action: "created", repository, sender: { login: "ann" } },
    expect: {
      event_name: "star",
      action: "created",
      subject: null,
      missing_field: null,
      text: "# star\n\n- Action: created\n- Repository: octo/app",
    },
  },
  {
    name: "no event header",
    headers: {},
    payload: { action: "opened" },
    expect: { event_name: "", missing_field: "header X-Alpha-Event" },
  },
  {
    name: "an issue without a number",
    headers: { "x-alpha-event": "issues" },
    payload: { action: "opened", issue: { title: "x" }, repository },
    expect: { missing_field: "issue.number", subject: null },
  },
  {
    name: "an issue without a repository",
    headers: { "x-alpha-event": "issues" },
    payload: { action: "opened", issue: { number: 1 }, repository: { full_name: "../user" } },
    expect: { missing_field: "repository.full_name", subject: null },
  },
];

const connection = (url: string) => ({ token, api_url: url });

async function tracker() {
  const tracker = await startTracker();
  tracker.addIssue(12, "2026-01-02T03:04:05Z", { labels: [{ name: "bug" }] });
  return tracker;
}

export const sourceFixtures: SourceFixtures = {
  connection,
  signature: {
    settings: { webhook_secret: secret },
    sign: (body) => ({ "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` }),
    covers_body: true,
  },
  golden,
  repetitions: [
    {
      first: { headers: { "x-github-event": "issues", "x-github-delivery": "d-1", "x-github-hook-id": "5" }, payload: {} },
      again: { headers: { "x-github-event": "issues", "x-github-delivery": "d-1", "x-github-hook-id": "5" }, payload: {} },
    },
  ],
  envelopes: ["issues", "push", "discussion", "deployment_status"].map((event) => ({
    headers: { "x-github-event": event },
    payload: { action: "created", repository, sender: { login: "ann", id: 1, type: "User" } },
  })),
  comment_places: [
    (body) => webhookOf("pull_request_review", { review: { body }, pull_request: pull }),
    (body) => webhookOf("pull_request_review_comment", { comment: { id: 4, body }, pull_request: pull }),
    (body) => webhookOf("commit_comment", { comment: { id: 4, body, commit_id: "0d1a26e6" } }),
    (body) => webhookOf("discussion_comment", { comment: { id: 4, body }, discussion: { number: 9, title: "How?" } }),
  ],
  delivery_header: "x-alpha-delivery",
  comment_event: (body) => ({
    headers: { "x-alpha-event": "issue_comment" },
    payload: { action: "created", issue: { number: 12 }, comment: { id: 5, body }, repository, sender: { login: "ann" } },
  }),
  own_event: {
    headers: { "x-alpha-event": "issues" },
    payload: { action: "edited", issue: { number: 12 }, repository, sender: { login: "signalbox-bot" } },
  },
  subject: { project: "octo/app", issue: "12" },
  tracker,
};

const at = { issue: 12, project: "octo/app" };
export const toolFixtures: ToolFixtures = {
  connection,
  secrets: [token],
  tracker,
  tools: {
    add_comment: {
      inputs: [
        { ...at, body: "Hello." },
        { issue: "#12", project: "octo/app", body: "x" },
        { issue: "octo/app#12", body: "x" },
      ],
      refused: [
        {},
        { ...at },
        { ...at, body: "" },
        { issue: "12", body: "x" },
        { ...at, issue: "twelve", body: "x" },
        { issue: 12, project: "../user", body: "x" },
      ],
    },
    update_description: {
      inputs: [
        { ...at, description: "New text." },
        { ...at, description: "" },
      ],
      refused: [
        { ...at },
        { issue: 0, project: "octo/app", description: "x" },
        { issue: 1.5, project: "octo/app", description: "x" },
      ],
    },
    get_issue: { inputs: [at, { issue: "12", project: "octo/app" }], refused: [{ project: "octo/app" }, { issue: 12 }] },
    create_label: {
      inputs: [
        { project: "octo/app", name: "triage", color: "#ff0000" },
        { project: "octo/app", name: "plain", description: "No color" },
      ],
      refused: [{ name: "triage" }, { project: "octo/app", name: "" }, { project: "octo/app", name: "x", color: "red" }],
    },
  },
};
