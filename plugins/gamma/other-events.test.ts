import { joinedText } from "@signalbox/sdk";
import { setUpPlugin } from "@signalbox/sdk/testing";
import { expect, test } from "vitest";
import gamma from "./index.ts";

/** After https://developer.atlassian.com/cloud/jira/platform/webhooks/ and the payloads of Server. */
const fields = { summary: "Crash at start", status: { name: "To Do" }, project: { key: "APP" } };
const issue = { id: "10001", key: "APP-12", fields };
const user = { accountId: "5b10", displayName: "Ann", accountType: "atlassian" };

async function read(payload: object) {
  const { sources } = await setUpPlugin(gamma);
  if (!sources?.gamma) throw new Error("gamma has no source");
  return sources.gamma.parse({ headers: {}, payload: payload as never });
}

test.each([
  [
    {
      webhookEvent: "sprint_started",
      sprint: { name: "Sprint 7", state: "active", goal: "Ship it", startDate: "2026-01-05T10:00:00.000Z" },
    },
    ["# Sprint: Sprint 7", "State: active", "Start: 2026-01-05", "Goal: Ship it"],
  ],
  [
    { webhookEvent: "jira:version_released", version: { name: "2.0", description: "Second", releaseDate: "2026-02-01" } },
    ["# Version: 2.0", "End: 2026-02-01", "Second"],
  ],
  [{ webhookEvent: "board_created", board: { id: 3, name: "Team", type: "scrum" } }, ["# Board: Team", "Event: board_created"]],
  [{ webhookEvent: "project_archived", project: { key: "APP", name: "Apps" } }, ["# Project: Apps"]],
  [{ webhookEvent: "user_created", user }, ["# User: Ann"]],
  [{ webhookEvent: "option_voting_changed" }, ["# option voting changed"]],
])("%j says what happened and is about no issue", async (payload, parts) => {
  const event = await read({ timestamp: 1_767_600_000_000, ...payload });
  expect(event).toMatchObject({ subject: null, missing_field: null });
  for (const part of parts) expect(joinedText(event.text)).toContain(part);
});

test("a property is about its issue, and its value is not shown", async () => {
  const property = { key: "deploy.state", value: { token: "k3y" } };
  const event = await read({ webhookEvent: "issue_property_set", issue, property });
  expect(event).toMatchObject({ subject: { project: "APP", issue: "APP-12" }, missing_field: null });
  for (const part of ["# Issue APP-12: Crash at start", "# Property: deploy.state"])
    expect(joinedText(event.text)).toContain(part);
  expect(joinedText(event.text)).not.toContain("k3y");
});

test("a link is about the issue that it was made from, which it names by id", async () => {
  const issueLink = { id: 1, sourceIssueId: 10001, destinationIssueId: 10002, issueLinkType: { name: "Blocks" } };
  const event = await read({ webhookEvent: "issuelink_created", issueLink });
  expect(event).toMatchObject({ subject: { project: "-", issue: "10001" }, incomplete: true });
  expect(joinedText(event.text)).toContain("Link type: Blocks");
  expect((await read({ webhookEvent: "issuelink_created", issueLink: { sourceIssueId: "../x" } })).subject).toBeNull();
});

test("what happened to an issue or a comment is in the text, also where the payload does not contain it", async () => {
  const deleted = await read({ webhookEvent: "jira:issue_deleted", issue, user });
  expect(joinedText(deleted.text)).toContain("- issue: deleted");
  const gone = await read({ webhookEvent: "jira:issue_updated", issue_event_type_name: "issue_comment_deleted", issue, user });
  expect(gone.event_name).toBe("comment_deleted");
  expect(joinedText(gone.text)).toContain("- comment: deleted");
});

test.each([
  ["text with marks", { type: "paragraph", content: [{ type: "text", text: "Bold", marks: [{ type: "strong" }] }] }, "**Bold**"],
  [
    "a panel",
    {
      type: "panel",
      attrs: { panelType: "warning" },
      content: [{ type: "paragraph", content: [{ type: "text", text: "Careful" }] }],
    },
    "Careful",
  ],
  [
    "a task list",
    { type: "taskList", content: [{ type: "taskItem", attrs: { state: "DONE" }, content: [{ type: "text", text: "Test" }] }] },
    "Test",
  ],
  [
    "an expand",
    { type: "expand", attrs: { title: "Log" }, content: [{ type: "paragraph", content: [{ type: "text", text: "Line" }] }] },
    "Line",
  ],
  ["a mention", { type: "paragraph", content: [{ type: "mention", attrs: { id: "5b10", text: "@Ann" } }] }, "Ann"],
  ["an emoji", { type: "paragraph", content: [{ type: "emoji", attrs: { shortName: ":smile:", text: "😄" } }] }, "😄"],
  [
    "a card",
    { type: "paragraph", content: [{ type: "inlineCard", attrs: { url: "https://example.com/x" } }] },
    "https://example.com/x",
  ],
  [
    "a date and a status",
    {
      type: "paragraph",
      content: [
        { type: "date", attrs: { timestamp: "1767571200000" } },
        { type: "status", attrs: { text: "In review" } },
      ],
    },
    "In review",
  ],
  [
    "a date that is no number",
    {
      type: "paragraph",
      content: [
        { type: "date", attrs: { timestamp: { toString: null } } },
        { type: "text", text: "the rest" },
      ],
    },
    "the rest",
  ],
  [
    "an unknown node",
    { type: "futureNode", content: [{ type: "paragraph", content: [{ type: "text", text: "Kept" }] }] },
    "Kept",
  ],
])("a comment as a document: %s", async (_, node, part) => {
  const body = { type: "doc", version: 1, content: [node] };
  const { text } = await read({ webhookEvent: "comment_created", issue, comment: { id: "1", author: user, body } });
  expect(joinedText(text)).toContain(part);
});
