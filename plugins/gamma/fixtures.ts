import { createHmac } from "node:crypto";
import { readMarker, stripMarker } from "@signalbox/sdk";
import type { SourceFixtures, ToolFixtures } from "@signalbox/sdk/testing";
import { withMarker } from "./bodies.ts";
import { markdownToWiki } from "./markdown-to-wiki.ts";
import { startTracker } from "./test-tracker.ts";
import { ann, golden, issue } from "./webhook-fixtures.ts";

const token = "test-token-91ab";
const secret = "webhook-secret-5f0c";
const connection = (url: string) => ({ url, email: "bot@example.com", api_token: token, is_cloud: "true" });
const serverConnection = (url: string) => ({ url, api_token: token, is_cloud: "false" });

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
  // A retry has the identifier of the first delivery, and a header with its number.
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
/** Tools for Server and Data Center, which use the other version of the API. */
export const serverToolFixtures: ToolFixtures = {
  ...toolFixtures,
  connection: (url) => ({ url, api_token: token, is_cloud: false }),
  tracker: trackerOf(2),
};
