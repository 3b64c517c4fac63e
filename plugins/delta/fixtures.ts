import { createHmac } from "node:crypto";
import { readMarker, stripMarker } from "@signalbox/sdk";
import type { SourceFixtures, ToolFixtures } from "@signalbox/sdk/testing";
import { withMarker } from "./bodies.ts";
import { envelopesV2, privateV2, repetitions } from "./envelope-fixtures.ts";
import { markdownToHtml } from "./html.ts";
import { issue, people, project, startTracker, workspace } from "./test-tracker.ts";
import { activity, data, golden, subject } from "./webhook-fixtures.ts";

const key = "test-key-91ab";
const secret = "webhook-secret-5f0c";
const connection = (url: string) => ({ api_url: url, api_key: key, workspace_slug: workspace });

async function tracker() {
  const started = await startTracker();
  started.addIssue(issue, "2026-01-02T03:04:05.678901Z");
  return started;
}

/** The comment as the platform's webhook contains it: HTML with the invisible characters that were posted. */
const toldHtml = (body: string): string => {
  const own = readMarker(body);
  if (own !== null) return withMarker(markdownToHtml(stripMarker(body)), own);
  return markdownToHtml(body.replace(/<!-- signalbox:(\S+) -->/g, "@@$1@@")).replace(/@@(\S+)@@/g, (_, inner) =>
    withMarker("<p>x</p>", inner),
  );
};

export const sourceFixtures: SourceFixtures = {
  connection,
  signature: {
    settings: { webhook_secret: secret },
    sign: (body) => ({ "x-delta-signature": createHmac("sha256", secret).update(body).digest("hex") }),
    covers_body: true,
  },
  golden,
  delivery_header: "x-delta-delivery",
  comment_event: (body) => ({
    headers: {},
    payload: { event: "issue.activity.created", data: { activity_type: "comment", comment: toldHtml(body), issue_id: issue } },
  }),
  own_event: {
    headers: {},
    payload: {
      event: "issue",
      action: "updated",
      data,
      activity: { ...activity, actor: { id: people.bot, display_name: "signalbox" } },
    },
  },
  repetitions,
  envelopes: [{ headers: {}, payload: { event: "issue", action: "updated", data, activity } }, ...envelopesV2],
  comment_places: [
    (body) => ({
      headers: {},
      payload: {
        event: "issue_comment",
        action: "created",
        data: { id: "c", comment_html: toldHtml(body), issue, project },
        activity,
      },
    }),
  ],
  private_event: privateV2,
  subject,
  tracker,
};

const refused = [{}, { issue: "../x", project }, { issue, project: "a/b" }, { issue: "", project }];
export const toolFixtures: ToolFixtures = {
  connection,
  secrets: [key],
  tracker,
  tools: {
    add_comment: {
      inputs: [
        { issue, project, body: "Hello." },
        { issue, body: "# No project" },
      ],
      refused: [{ issue, project }, { issue, project, body: "" }, ...refused.map((one) => ({ ...one, body: "x" }))],
    },
    update_description: {
      inputs: [
        { issue, project, description: "New text." },
        { issue, project, description: "" },
      ],
      refused: [{ issue, project }, ...refused.map((one) => ({ ...one, description: "x" }))],
    },
    get_issue: { inputs: [{ issue, project }, { issue }], refused },
  },
};
