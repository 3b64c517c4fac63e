import type { GoldenWebhook } from "@signalbox/sdk/testing";

export const project = { id: 77, path_with_namespace: "octo/team/app" };
export const user = { id: 5, name: "Ann", username: "ann" };
const attributes = {
  id: 9012,
  iid: 12,
  title: "Crash at start",
  description: "It crashes.",
  state: "opened",
  action: "open",
  created_at: "2026-01-02 03:04:05 UTC",
  updated_at: "2026-01-02 03:04:05 UTC",
};
export const issue = {
  object_kind: "issue",
  event_type: "issue",
  user,
  project,
  object_attributes: attributes,
  labels: [{ title: "bug" }],
};
const branches = { source_branch: "fix", target_branch: "main" };

export const noteEvent = (note: string, on: object, more: object) => ({
  headers: { "x-gitlab-event": "Note Hook" },
  payload: { object_kind: "note", user, project, object_attributes: { id: 301, note, ...more }, ...on },
});

export const golden: readonly GoldenWebhook[] = [
  {
    name: "Issue Hook open",
    headers: { "x-beta-event": "Issue Hook", "x-gitlab-event": "Push Hook", "x-gitlab-event-uuid": "d-1" },
    payload: issue,
    expect: {
      delivery_id: "d-1",
      event_name: "Issue Hook",
      action: "open",
      subject: { project: "octo/team/app", issue: "12" },
      actor: "ann",
      title: "Crash at start",
      text: "# Issue #12: Crash at start\n\n- State: opened\n- By: ann\n- Labels: bug\n\nIt crashes.",
      marked: false,
      occurred_at: "2026-01-02T03:04:05.000Z",
      missing_field: null,
      change_key: "issue/octo/team/app#12/open",
    },
  },
  {
    name: "Issue Hook close, by the platform's header",
    headers: { "x-gitlab-event": "Issue Hook", "x-beta-event-uuid": "d-2" },
    payload: {
      ...issue,
      object_attributes: { ...attributes, action: "close", state: "closed", updated_at: "2026-01-03T00:00:00.123Z" },
      changes: { state_id: { previous: 1, current: 2 }, updated_at: { previous: "a", current: "b" } },
    },
    expect: {
      delivery_id: "d-2",
      action: "close",
      title: "Crash at start",
      text: "# Issue #12: Crash at start\n\n- State: closed\n- By: ann\n- Labels: bug\n\n## Changes\n\n- state: opened → closed\n\nIt crashes.",
      occurred_at: "2026-01-03T00:00:00.123Z",
      change_key: "issue/octo/team/app#12/close@2026-01-03T00:00:00",
    },
  },
  {
    name: "Issue Hook reopen, only what service.md names",
    headers: { "x-beta-event": "Issue Hook" },
    payload: {
      object_kind: "issue",
      event_type: "issue",
      user: { username: "ann" },
      project: { id: 77, path_with_namespace: "octo/team/app" },
      object_attributes: { iid: 12, title: "Crash", description: "It.", state: "opened", action: "reopen" },
    },
    expect: { action: "reopen", subject: { project: "octo/team/app", issue: "12" }, missing_field: null, occurred_at: null },
  },
  {
    name: "Issue Hook update of labels",
    headers: { "x-beta-event": "Issue Hook" },
    payload: {
      ...issue,
      object_attributes: { ...attributes, action: "update" },
      changes: { labels: { previous: [{ title: "To Do" }], current: [{ title: "Doing" }, { title: "bug" }] } },
    },
    expect: { action: "update", change_key: "issue/octo/team/app#12/changed@2026-01-02T03:04:05" },
  },
  {
    name: "Merge Request Hook open",
    headers: { "x-beta-event": "Merge Request Hook" },
    payload: { ...issue, object_kind: "merge_request", object_attributes: { ...attributes, ...branches, iid: 7 } },
    expect: {
      event_name: "Merge Request Hook",
      action: "open",
      subject: { project: "octo/team/app", issue: "!7" },
      title: "Crash at start",
      text: "# Merge request !7: Crash at start\n\n- State: opened\n- By: ann\n- Labels: bug\n- From: fix\n- Into: main\n\nIt crashes.",
      change_key: "merge_request/octo/team/app!7/open",
    },
  },
  {
    name: "Note Hook on a merge request",
    headers: { "x-gitlab-event": "Note Hook" },
    payload: {
      object_kind: "note",
      user,
      project,
      object_attributes: {
        id: 301,
        note: "Fine.",
        noteable_type: "MergeRequest",
        action: "create",
        created_at: "2026-01-04T00:00:00Z",
      },
      merge_request: { iid: 7, title: "Mend it", state: "opened", description: "Mended." },
    },
    expect: {
      action: "create",
      subject: { project: "octo/team/app", issue: "!7" },
      title: "Mend it",
      text: "# Merge request !7: Mend it\n\n- State: opened\n\n## Comment by ann\n\nFine.\n\n## Description\n\nMended.",
      change_key: "note/octo/team/app/301",
      occurred_at: "2026-01-04T00:00:00.000Z",
    },
  },
  {
    name: "an event that no mapping names",
    headers: { "x-beta-event": "Push Hook" },
    payload: { object_kind: "push", project },
    expect: {
      event_name: "Push Hook",
      action: null,
      subject: null,
      missing_field: null,
      text: "# Push\n\n- Project: octo/team/app",
    },
  },
  {
    name: "no event header",
    headers: {},
    payload: { object_attributes: { action: "open" } },
    expect: { event_name: "", missing_field: "header X-Beta-Event" },
  },
  {
    name: "no event header, but a kind",
    headers: {},
    payload: issue,
    expect: { event_name: "Issue Hook", missing_field: null },
  },
  {
    name: "no event header, but a kind that is confidential",
    headers: {},
    payload: { ...issue, event_type: "confidential_issue" },
    expect: {
      event_name: "Confidential Issue Hook",
      subject: { project: "octo/team/app", issue: "12" },
      missing_field: null,
      change_key: "issue/octo/team/app#12/open",
    },
  },
  {
    name: "an issue without a number",
    headers: { "x-beta-event": "Issue Hook" },
    payload: { ...issue, object_attributes: { action: "open", title: "x" } },
    expect: { missing_field: "object_attributes.iid", subject: null },
  },
  {
    name: "an issue whose project path contains ..",
    headers: { "x-beta-event": "Issue Hook" },
    payload: { ...issue, project: { path_with_namespace: "../user" } },
    expect: { missing_field: "project.path_with_namespace", subject: null },
  },
];
