import { createHmac } from "node:crypto";
import type { Conformance, GoldenWebhook } from "@signalbox/sdk/testing";
import { ann, LinearServer, token, viewer } from "./server.ts";
import commented from "./webhooks/comment-created.json" with { type: "json" };
import fromCustomer from "./webhooks/comment-from-customer.json" with { type: "json" };
import created from "./webhooks/issue-created.json" with { type: "json" };
import done from "./webhooks/issue-done.json" with { type: "json" };
import labelled from "./webhooks/label-created.json" with { type: "json" };
import reacted from "./webhooks/reaction-created.json" with { type: "json" };

const secret = "linear-test-secret";
const connection = (url: string) => ({ url, token });
const tracker = () => new LinearServer().listen();
const subject = { project: "ENG", issue: "ENG-42" };
const about = { subject, actor: ann.id, missing_field: null, marked: false };
const link = "https://linear.app/acme/issue/ENG-42/login-fails";
const author = { id: ann.id, name: "Ann Lee", kind: "human", standing: "unknown" } as const;

const golden: readonly GoldenWebhook[] = [
  {
    name: "a created issue",
    ...created,
    expect: {
      ...about,
      event_name: "Issue",
      action: "create",
      author,
      closes: false,
      snapshot: false,
      delivery_id: "234d1a4e-b617-4388-90fe-adc3633d6b72",
      title: "Login fails",
      text: `# Issue ENG-42: Login fails\n\n- State: Todo\n- By: Ann Lee\n- Labels: Bug\n- Priority: High\n- Link: ${link}\n\nIt says **500** since this morning.`,
      occurred_at: "2026-01-31T09:30:00.123Z",
      change_key: "Issue/create/ENG-42",
      hook_id: "000042e3-d123-4980-b49f-8e140eef9329",
      // The payload has the id of its author only.
      incomplete: true,
    },
  },
  {
    name: "an issue that was done",
    ...done,
    expect: {
      ...about,
      event_name: "Issue",
      action: "update",
      closes: true,
      snapshot: true,
      changes: ["state: → Done", "label added: Docs"],
      change_key: "Issue/update/ENG-42@2026-01-31T10:00:00.400Z",
    },
  },
  {
    name: "a comment in a thread",
    ...commented,
    expect: {
      ...about,
      event_name: "Comment",
      action: "create",
      author,
      comment: "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9",
      comment_text: "/stop it is *solved*",
      thread: "9d0a7a10-5a80-4b1e-9d3e-2f7a5d1b0c04",
      incomplete: true,
      change_key: "Comment/create/2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9",
      title: "Login fails",
      text: "# Issue ENG-42: Login fails\n\n## In answer to\n\n> Looking into it.\n\n## Comment by Ann Lee\n\n/stop it is *solved*",
    },
  },
  {
    name: "a customer's comment, which is answered outside of the thread that the customer reads",
    ...fromCustomer,
    expect: {
      event_name: "Comment",
      subject,
      thread: null,
      actor: "ext-carl",
      author: { id: "ext-carl", name: "Carl Customer", kind: "human", standing: "none" },
    },
  },
  {
    name: "a reaction",
    ...reacted,
    expect: {
      ...about,
      event_name: "Reaction",
      action: "create",
      comment: "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9",
      title: "Login fails",
      text: "# Issue ENG-42: Login fails\n\nAnn Lee reacted with +1\n\n> Shall I try?",
    },
  },
  {
    name: "a new label, by an application",
    ...labelled,
    expect: {
      event_name: "IssueLabel",
      action: "create",
      subject: null,
      missing_field: null,
      text: "",
      author: { id: "oauth-1", name: "Label Importer", kind: "app", standing: "unknown" },
    },
  },
];

export const conformance: Conformance = {
  sources: {
    linear: {
      connection,
      tracker,
      subject,
      golden,
      delivery_header: "linear-delivery",
      signature: {
        settings: { webhook_secret: secret },
        sign: (body) => ({ "linear-signature": createHmac("sha256", secret).update(body).digest("hex") }),
        covers_body: true,
      },
      comment_event: (body) => ({
        headers: { "linear-event": "Comment" },
        payload: { ...commented.payload, data: { ...commented.payload.data, body } },
      }),
      own_event: {
        headers: commented.headers,
        payload: { ...commented.payload, actor: { id: viewer.id, type: "user", name: viewer.name } },
      },
      // Linear repeats a failed delivery after a minute, an hour and six hours, with the same id.
      repetitions: [{ first: created, again: { ...created, payload: { ...created.payload, webhookTimestamp: 1769851860123 } } }],
      envelopes: [created, done, commented, fromCustomer, reacted, labelled],
      // A reply in a thread, and an edited comment.
      comment_places: [
        (body) => ({
          headers: commented.headers,
          payload: {
            ...commented.payload,
            data: { ...commented.payload.data, body, parentId: "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9" },
          },
        }),
        (body) => ({
          headers: commented.headers,
          payload: { ...commented.payload, action: "update", data: { ...commented.payload.data, body } },
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
          { issue: "ENG-42", body: "Looking into it." },
          { issue: 42, project: "eng", body: "Found it." },
        ],
        refused: [
          { issue: 42, body: "Where?" },
          { issue: "forty-two", body: "x" },
          { issue: 42, project: "a/b", body: "x" },
        ],
      },
      create_issue: {
        inputs: [{ project: "ENG", title: "A new one", description: "Because." }],
        refused: [{ title: "Where?" }, { project: "a/b", title: "x" }, { project: "ENG", title: "" }],
      },
      get_issue: { inputs: [{ issue: "eng-42" }], refused: [{ issue: 0, project: "ENG" }, { project: "ENG" }] },
      list_comments: { inputs: [{ issue: "ENG-42" }], refused: [{}] },
      search_issues: {
        inputs: [{ query: "Login", project: "ENG" }],
        refused: [{ query: "Login" }, { query: "", project: "ENG" }],
      },
      update_description: { inputs: [{ issue: "ENG-42", description: "New." }], refused: [{ issue: "x", description: "New." }] },
      update_labels: {
        inputs: [{ issue: "ENG-42", add: ["Docs"], remove: ["Bug"] }],
        refused: [
          { issue: "ENG-42", add: ["No such label"] },
          { issue: "ENG-42", add: [""] },
        ],
      },
      update_state: {
        inputs: [{ issue: "ENG-42", state: "in progress" }],
        refused: [{ issue: "ENG-42", state: "No such state" }, { issue: "ENG-42" }],
      },
    },
  },
};
