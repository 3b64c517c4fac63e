import { createHmac } from "node:crypto";
import { readMarker, stripMarker } from "@signalbox/sdk";
import type { GoldenWebhook, SourceFixtures, ToolFixtures } from "@signalbox/sdk/testing";
import { withMarker } from "./bodies.ts";
import { envelopesV2, goldenV2, privateV2, repetitions } from "./envelope-fixtures.ts";
import { markdownToHtml } from "./html.ts";
import { issue, people, project, startTracker, states, workspace } from "./test-tracker.ts";

const secret = "webhook-secret-5f0c";
const key = "test-key-91ab";
const data = {
  id: issue,
  name: "Crash at start",
  description_html: "<p>It <strong>crashes</strong>.</p>",
  state: { id: states.todo, name: "Todo", group: "unstarted" },
  priority: "high",
  project,
  sequence_id: 12,
  created_by: people.ann,
  updated_by: people.ann,
  created_at: "2026-01-02T03:04:05.678901Z",
  updated_at: "2026-01-02T03:04:05.678901Z",
};
const activity = { actor: { id: people.ann, display_name: "ann" }, field: null, old_value: null, new_value: null };
const subject = { project, issue };
const facts = "- State: Todo\n- Priority: high";

const golden: readonly GoldenWebhook[] = [
  ...goldenV2,
  {
    name: "issue created, the platform's own",
    headers: { "x-plane-event": "issue", "x-plane-delivery": "d-1" },
    payload: { event: "issue", action: "created", webhook_id: "w", workspace_id: "s", data, activity },
    expect: {
      delivery_id: "d-1",
      event_name: "issue.created",
      action: null,
      subject,
      actor: people.ann,
      title: "Crash at start",
      text: `# Issue #12: Crash at start\n\n${facts}\n\nIt **crashes**.`,
      marked: false,
      occurred_at: "2026-01-02T03:04:05.678Z",
      missing_field: null,
      change_key: `issue/${issue}/created`,
    },
  },
  {
    name: "issue.created, only what service.md names",
    headers: {},
    payload: {
      event: "issue.created",
      data: {
        id: "iss-1",
        name: "N",
        description: "D",
        state: "Backlog",
        priority: "low",
        project_id: "prj-1",
        workspace_slug: "acme",
      },
    },
    expect: {
      event_name: "issue.created",
      subject: { project: "prj-1", issue: "iss-1" },
      actor: null,
      title: "N",
      text: "# Issue: N\n\n- State: Backlog\n- Priority: low\n\nD",
      missing_field: null,
    },
  },
  {
    name: "issue.updated, only what service.md names",
    headers: { "x-delta-delivery": "d-2", "x-plane-delivery": "other" },
    payload: {
      event: "issue.updated",
      data: { id: issue, name: "N", state: "Doing", changes: { state: { old: "Todo", new: "Doing" } } },
    },
    expect: {
      delivery_id: "d-2",
      event_name: "issue.updated",
      subject: { project: "-", issue },
      title: "N",
      text: "# Issue: N\n\n- State: Doing\n\n## Changes\n\n- state: Todo → Doing",
      missing_field: null,
      change_key: null,
    },
  },
  {
    name: "issue updated, an older version of the platform",
    headers: { "x-plane-event": "issue" },
    payload: {
      event: "issue",
      action: "update",
      data,
      activity: { ...activity, field: "state", old_value: "Todo", new_value: "Done" },
    },
    expect: {
      event_name: "issue.updated",
      title: "Crash at start",
      text: `# Issue #12: Crash at start\n\n${facts}\n\n## Changes\n\n- state: Todo → Done\n\nIt **crashes**.`,
      change_key: `issue/${issue}/updated@2026-01-02T03:04:05`,
    },
  },
  {
    name: "workitem.created, a newer version of the platform",
    headers: { "x-plane-event": "workitem.created" },
    payload: { event: "workitem.created", data },
    expect: { event_name: "issue.created", subject, actor: people.ann },
  },
  {
    name: "the event in the header alone",
    headers: { "x-delta-event": "issue.updated" },
    payload: { data },
    expect: { event_name: "issue.updated", subject },
  },
  {
    name: "issue.activity.created, only what service.md names",
    headers: {},
    payload: { event: "issue.activity.created", data: { activity_type: "comment", comment: "Me too.", issue_id: issue } },
    expect: {
      event_name: "issue.activity.created",
      subject: { project: "-", issue },
      actor: null,
      text: "# Issue\n\n## Comment\n\nMe too.",
      missing_field: null,
    },
  },
  {
    name: "issue_comment created, the platform's own",
    headers: { "x-plane-event": "issue_comment" },
    payload: {
      event: "issue_comment",
      action: "created",
      data: {
        id: "c-1",
        comment_html: "<p>Me <em>too</em>.</p>",
        issue,
        project,
        actor: people.ann,
        created_at: data.created_at,
      },
      activity,
    },
    expect: {
      event_name: "issue.activity.created",
      subject,
      actor: people.ann,
      text: "# Issue\n\n## Comment by ann\n\nMe *too*.",
      change_key: `issue/${issue}/comment/c-1`,
    },
  },
  {
    name: "a comment of ours, by its external source",
    headers: {},
    payload: {
      event: "issue_comment",
      action: "created",
      data: { id: "c", comment_html: "<p>x</p>", issue, project, external_source: "signalbox" },
    },
    expect: { marked: true },
  },
  {
    name: "an event that no mapping names",
    headers: {},
    payload: { event: "cycle", action: "created", data: { id: "c" } },
    expect: { event_name: "cycle.created", subject: null, text: "# Cycle\n\n- Action: created", missing_field: null },
  },
  { name: "no event", headers: {}, payload: { data }, expect: { event_name: "", missing_field: "event" } },
  {
    name: "an issue without an id",
    headers: {},
    payload: { event: "issue.created", data: { name: "x" } },
    expect: { missing_field: "data.id", subject: null },
  },
  {
    name: "an id that contains a path",
    headers: {},
    payload: { event: "issue.created", data: { id: "../..", project } },
    expect: { missing_field: "data.id", subject: null },
  },
];

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
