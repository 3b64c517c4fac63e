import type { GoldenWebhook } from "@signalbox/sdk/testing";
import { goldenV2 } from "./envelope-fixtures.ts";
import { issue, people, project, states } from "./test-tracker.ts";

export const data = {
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
export const activity = { actor: { id: people.ann, display_name: "ann" }, field: null, old_value: null, new_value: null };
export const subject = { project, issue };
const facts = "- State: Todo\n- Priority: high";

export const golden: readonly GoldenWebhook[] = [
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
