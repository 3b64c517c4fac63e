import { joinedText } from "@signalbox/sdk";
import { describe, expect, test } from "vitest";
import { parse } from "./parse.ts";

/** After https://docs.gitlab.com/user/project/integrations/webhook_events/ */
const project = { id: 7, path_with_namespace: "octo/app", visibility_level: 0 };
const user = { id: 5, username: "ann" };
const read = (event: string, payload: object) =>
  parse({ headers: { "x-gitlab-event": event }, payload: { project, user, ...payload } as never });

describe("a pipeline", () => {
  const object_attributes = {
    id: 31,
    ref: "fix",
    sha: "abc123",
    source: "merge_request_event",
    status: "failed",
    url: "https://gitlab.example/p/31",
    variables: [{ key: "DEPLOY_TOKEN", value: "s3cr3t-value" }],
  };
  const builds = [
    { name: "unit", stage: "test", status: "failed", failure_reason: "script_failure" },
    { name: "lint", stage: "test", status: "success" },
  ];
  test("is about its merge request, and names its failed jobs and no variable", () => {
    const merge_request = { iid: 4, title: "Mend the login", state: "opened" };
    const { subject, text, incomplete } = read("Pipeline Hook", { object_attributes, builds, merge_request });
    expect({ subject, incomplete }).toEqual({ subject: { project: "octo/app", issue: "!4" }, incomplete: true });
    for (const part of ["Status: failed", "Ref: fix", "Merge request: Mend the login", "- unit (test): script_failure"])
      expect(joinedText(text)).toContain(part);
    expect(joinedText(text)).not.toMatch(/s3cr3t|DEPLOY_TOKEN|lint/);
  });
  test("of a branch has no subject", () => {
    expect(read("Pipeline Hook", { object_attributes, builds })).toMatchObject({ subject: null, incomplete: false });
  });
});

test.each([
  ["Job Hook", { build_name: "unit", build_status: "failed", build_failure_reason: "script_failure" }, "Failure: script_failure"],
  ["Job Hook", { build_name: "unit", build_status: "success", build_failure_reason: "unknown_failure" }, "Status: success"],
  ["Deployment Hook", { status: "success", environment: "staging", commit_title: "Fix" }, "# Deployment: staging"],
  ["Feature Flag Hook", { object_attributes: { name: "dark", description: "Dark mode", active: false } }, "Active: false"],
  ["Release Hook", { action: "create", name: "One", tag: "v1", description: "What is new." }, "What is new."],
  ["Milestone Hook", { object_attributes: { action: "close", title: "1.0", state: "closed" } }, "# Milestone: 1.0"],
  [
    "Push Hook",
    { ref: "refs/heads/main", commits: [{ id: "a".repeat(40), message: "Fix\n\nx" }], total_commits_count: 3 },
    "- and 2 more",
  ],
  ["Subgroup Hook", { event_name: "subgroup_create" }, "Action: subgroup_create"],
  ["Vulnerability Hook", { object_attributes: { title: "x" } }, "# Vulnerability"],
])("%s says what happened", (event, payload, part) => {
  const { text, ...others } = read(event, payload);
  expect(others).toMatchObject({ subject: null, missing_field: null });
  expect(joinedText(text)).toContain(part);
});

describe("a reaction", () => {
  const object_attributes = {
    name: "thumbsup",
    action: "award",
    awardable_type: "Note",
    awarded_on_url: "https://gitlab.example/n/1",
  };
  const issue = { iid: 12, title: "Crash", state: "opened" };
  test("is about the issue of its note", () => {
    const event = read("Emoji Hook", { object_attributes, issue, note: { note: "Agreed?", internal: false } });
    expect(event).toMatchObject({ subject: { project: "octo/app", issue: "12" }, action: "award", private: false });
    for (const part of ["# Emoji: thumbsup", "On: Note", "Agreed?"]) expect(joinedText(event.text)).toContain(part);
  });
  test("to an internal note is private, and so is one to a confidential issue", () => {
    expect(read("Emoji Hook", { object_attributes, issue, note: { note: "x", internal: true } }).private).toBe(true);
    expect(read("Emoji Hook", { object_attributes, issue: { ...issue, confidential: true } }).private).toBe(true);
  });
});

test("a note that the platform wrote about a change starts nothing", () => {
  const object_attributes = { id: 1, note: "changed the description", noteable_type: "Issue", system: true, action: "create" };
  expect(read("Note Hook", { object_attributes, issue: { iid: 12 } }).ignored).toMatch(/system note/);
  expect(
    read("Note Hook", { object_attributes: { ...object_attributes, system: false }, issue: { iid: 12 } }).ignored,
  ).toBeNull();
});

test.each(["Task", "Incident", "Ticket", "Objective"])("a work item of the type %s is an issue that names its type", (type) => {
  const object_attributes = { iid: 8, title: "Rotate keys", action: "open", type, state: "opened" };
  const event = read("Issue Hook", { object_kind: "work_item", event_type: "work_item", object_attributes });
  expect(event).toMatchObject({ subject: { project: "octo/app", issue: "8" } });
  expect(joinedText(event.text)).toContain(`# ${type} #8: Rotate keys`);
});
