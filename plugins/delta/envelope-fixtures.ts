import type { Json } from "@signalbox/sdk";
import type { GoldenWebhook } from "@signalbox/sdk/testing";
import { issue, people, project, states } from "./test-tracker.ts";

const time = "2026-03-31T11:44:41.249292+00:00";
const item = {
  id: issue,
  name: "Crash at start",
  priority: "none",
  state_id: states.todo,
  label_ids: [],
  project_id: project,
  sequence_id: 3,
  created_at: time,
  updated_at: time,
  created_by_id: people.ann,
  updated_by_id: null,
};
const envelope = (event: string, data: Json, more: Record<string, Json> = {}) => ({
  version: "v2",
  delivery_id: "d-1",
  event_id: "e-1",
  entity_id: issue,
  entity_type: "issue",
  webhook_id: "w-1",
  event,
  data,
  previous_attributes: {},
  ...more,
});
const comment = { id: "c-1", access: "INTERNAL", actor_id: people.ann, issue_id: issue, comment_stripped: "Me too." };
const annAlone = { id: people.ann, name: null, kind: "unknown", standing: "unknown" } as const;
const subject = { project, issue };

/** The platform's second envelope, with the examples from its documentation. */
export const goldenV2: readonly GoldenWebhook[] = [
  {
    name: "workitem.created",
    headers: {},
    payload: envelope("workitem.created", item),
    expect: {
      delivery_id: "e-1",
      event_name: "issue.created",
      subject,
      actor: people.ann,
      author: annAlone,
      text: "# Issue #3: Crash at start\n\n- Priority: none",
      occurred_at: "2026-03-31T11:44:41.249Z",
      change_key: `issue/${issue}/created`,
      hook_id: "w-1",
      snapshot: false,
      missing_field: null,
    },
  },
  {
    name: "workitem.updated",
    headers: {},
    payload: envelope(
      "workitem.updated",
      { ...item, updated_by_id: people.bot, state_id: states.done },
      { previous_attributes: { state_id: states.todo, last_activity_at: "2026-03-31" } },
    ),
    expect: {
      event_name: "issue.updated",
      actor: people.bot,
      changes: [`state: ${states.todo} → ${states.done}`],
      snapshot: true,
    },
  },
  {
    name: "an update with the name of a scope and the word None",
    headers: {},
    payload: envelope("WebhookScope.ScopeChoices.WORK_ITEM_UPDATED", { ...item, updated_by_id: "None", parent_id: "None" }),
    expect: { event_name: "issue.updated", actor: null, author: null, changes: [], subject },
  },
  {
    name: "workitem.comment.created",
    headers: {},
    payload: envelope("workitem.comment.created", { id: issue, name: "Crash at start", comment }),
    expect: {
      event_name: "issue.activity.created",
      subject: { project: "-", issue },
      actor: people.ann,
      text: "# Issue: Crash at start\n\n## Comment\n\nMe too.",
      comment: "c-1",
      private: true,
      change_key: `issue/${issue}/comment/c-1`,
    },
  },
  {
    name: "a comment that visitors of the public board can read",
    headers: {},
    payload: envelope("workitem.comment.created", { id: issue, comment: { ...comment, access: "EXTERNAL" } }),
    expect: { private: false },
  },
  {
    name: "workitem.link.created",
    headers: {},
    payload: envelope(
      "workitem.link.created",
      { id: "l-1", url: "https://example.com", title: "Log", issue_id: issue, project_id: project, created_by_id: people.ann },
      { entity_type: "issue_link" },
    ),
    expect: {
      event_name: "issue.link.created",
      subject,
      actor: people.ann,
      text: "# Issue\n\n## Link\n\n- Title: Log\n- URL: https://example.com",
    },
  },
  {
    name: "workitem.deleted",
    headers: {},
    payload: envelope("workitem.deleted", {}, { previous_attributes: item }),
    expect: {
      event_name: "issue.deleted",
      subject,
      actor: null,
      text: "# Issue #3: Crash at start\n\n- Priority: none\n\n## Changes\n\n- issue: deleted",
    },
  },
  {
    name: "a deletion in the first envelope, with the id alone",
    headers: {},
    payload: { event: "issue", action: "deleted", data: { id: issue }, activity: { actor: { id: people.ann } } },
    expect: { event_name: "issue.deleted", subject: { project: "-", issue }, actor: people.ann, missing_field: null },
  },
  {
    name: "a cycle",
    headers: {},
    payload: envelope(
      "cycle.created",
      { id: "y-1", name: "Sprint 12", start_date: "2026-05-25T00:00:00Z" },
      { entity_type: "cycle" },
    ),
    expect: {
      event_name: "cycle.created",
      subject: null,
      text: "# Cycle: Sprint 12\n\n- Action: created\n- Start: 2026-05-25",
      missing_field: null,
    },
  },
];

/** A repeated delivery has its own delivery id and the event id of the first one. */
export const repetitions = [
  {
    first: { headers: {}, payload: envelope("workitem.created", item) },
    again: { headers: {}, payload: envelope("workitem.created", item, { delivery_id: "d-2" }) },
  },
];
export const envelopesV2 = [
  { headers: {}, payload: envelope("workitem.created", item) },
  { headers: {}, payload: envelope("workitem.comment.created", { id: issue, comment }) },
];
export const privateV2 = { headers: {}, payload: envelope("workitem.comment.created", { id: issue, comment }) };
