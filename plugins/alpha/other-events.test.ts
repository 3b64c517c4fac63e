import { joinedText } from "@signalbox/sdk";
import { describe, expect, test } from "vitest";
import { parse } from "./parse.ts";

/** After https://docs.github.com/en/webhooks/webhook-events-and-payloads */
const repository = { full_name: "octo/app", private: false };
const sender = { login: "ann", type: "User" };
const issue = (number: number, title: string) => ({
  number,
  title,
  state: "open",
  labels: [],
  html_url: `https://github.com/octo/app/issues/${number}`,
  user: { login: "ann" },
  body: `About ${title}.`,
});
const pull = { url: "https://api.github.com/repos/octo/app/pulls/5", number: 5, head: { ref: "fix" }, base: { ref: "main" } };
const run = {
  name: "CI",
  status: "completed",
  conclusion: "failure",
  head_branch: "fix",
  head_sha: "abc123def456",
  html_url: "https://github.com/octo/app/actions/runs/9",
  event: "pull_request",
  display_title: "Mend the login",
};
const read = (event: string, payload: object) =>
  parse({ headers: { "x-github-event": event }, payload: { repository, sender, ...payload } as never });

describe("what runs for a commit", () => {
  test.each(["check_run", "check_suite", "workflow_run"])("%s is about its pull request", (event) => {
    const { subject, text, incomplete } = read(event, { action: "completed", [event]: { ...run, pull_requests: [pull] } });
    expect({ subject, incomplete }).toEqual({ subject: { project: "octo/app", issue: "5" }, incomplete: true });
    for (const part of ["Action: completed", "Conclusion: failure", "Branch: fix", "Commit: abc123def456", run.html_url])
      expect(joinedText(text)).toContain(part);
  });

  test("has no subject without a pull request, with several, or with one of another repository", () => {
    const foreign = { ...pull, url: "https://api.github.com/repos/eve/app/pulls/5" };
    for (const pull_requests of [[], null, [pull, { ...pull, number: 6 }], [foreign], ["x"]])
      expect(read("check_run", { action: "completed", check_run: { ...run, pull_requests } })).toMatchObject({
        subject: null,
        incomplete: false,
      });
    expect(read("workflow_run", { workflow_run: { pull_requests: [foreign, pull] } }).subject?.issue).toBe("5");
  });

  test("a job names its failed steps", () => {
    const steps = [
      { name: "Checkout", conclusion: "success" },
      { name: "Tests", conclusion: "failure" },
    ];
    const { text } = read("workflow_job", { action: "completed", workflow_job: { ...run, workflow_name: "CI", steps } });
    expect(joinedText(text)).toContain("## Failed steps\n\n- Tests");
    expect(joinedText(text)).not.toContain("- Checkout");
  });
});

describe("issues that are parts of others, or wait for them", () => {
  const family = { parent_issue: issue(1, "Checkout"), sub_issue: issue(2, "Payment") };
  const wait = { blocked_issue: issue(3, "Release"), blocking_issue: issue(4, "Audit") };
  test.each([
    ["sub_issues", "sub_issue_added", family, "1", "sub issue: #2 Payment"],
    ["sub_issues", "parent_issue_removed", family, "2", "parent issue: #1 Checkout"],
    ["issue_dependencies", "blocked_by_added", wait, "3", "blocking issue: #4 Audit"],
    ["issue_dependencies", "blocking_removed", wait, "4", "blocked issue: #3 Release"],
  ])("%s/%s is about the issue of its repository", (event, action, members, number, line) => {
    const { subject, text } = read(event, { action, ...members });
    expect(subject).toEqual({ project: "octo/app", issue: number });
    expect(joinedText(text)).toMatch(new RegExp(`^# Issue #${number}: `));
    expect(joinedText(text)).toContain(`- ${action.replaceAll("_", " ")}\n- ${line}`);
  });

  test("without the issue there is no subject", () => {
    expect(read("sub_issues", { action: "sub_issue_added", sub_issue: issue(2, "Payment") })).toMatchObject({ subject: null });
    expect(read("sub_issues", { action: "constructor" }).subject).toBeNull();
  });
});

test("a conversation of a review is answered where it is", () => {
  const comment = { path: "src/login.ts", line: 7, diff_hunk: "@@ -1 +1 @@", user: { login: "bob" }, body: "Why twice?" };
  const comments = [
    { id: 31, ...comment },
    { id: 32, ...comment, in_reply_to_id: 31, body: "Mended." },
  ];
  const pull_request = { ...issue(5, "Mend the login"), head: { ref: "fix" }, base: { ref: "main" } };
  const { subject, thread, text } = read("pull_request_review_thread", {
    action: "resolved",
    pull_request,
    thread: { node_id: "T1", comments },
  });
  expect({ subject, thread }).toEqual({ subject: { project: "octo/app", issue: "5" }, thread: "review:31" });
  for (const part of ["Conversation: resolved", "File: src/login.ts", "Line: 7", "Comment by bob", "Why twice?", "Mended."])
    expect(joinedText(text)).toContain(part);
});

test.each([
  [
    "push",
    {
      ref: "refs/heads/main",
      before: "0".repeat(40),
      after: "a".repeat(40),
      commits: [{ id: "a".repeat(40), message: "Fix\n\nLong" }],
    },
    "aaaaaaaaaaaa Fix",
  ],
  ["push", { ref: "refs/tags/v1", commits: [], head_commit: { id: "b".repeat(40), message: "Release" } }, "bbbbbbbbbbbb Release"],
  ["release", { action: "published", release: { tag_name: "v1", name: "One", body: "What is **new**." } }, "What is **new**."],
  ["milestone", { action: "closed", milestone: { title: "1.0", state: "closed", description: "First" } }, "# Milestone: 1.0"],
  ["merge_group", { action: "checks_requested", merge_group: { head_ref: "refs/heads/q/1", head_sha: "abc" } }, "Commit: abc"],
  [
    "dependabot_alert",
    { action: "created", alert: { state: "open", security_advisory: { summary: "ReDoS", severity: "high" } } },
    "Severity: high",
  ],
  ["create", { ref: "v1", ref_type: "tag" }, "Type: tag"],
  ["custom_event", { action: "begun" }, "# custom event\n\n- Action: begun"],
  ["star", {}, "Repository: octo/app"],
])("%s says what happened", (event, payload, part) => {
  const { text, ...others } = read(event, payload);
  expect(others).toMatchObject({ missing_field: null, subject: null });
  expect(joinedText(text)).toContain(part);
});

test("typed and milestoned issues name what they got", () => {
  const typed = read("issues", { action: "typed", issue: issue(1, "x"), type: { name: "Bug" } });
  const milestoned = read("issues", { action: "milestoned", issue: issue(1, "x"), milestone: { title: "1.0" } });
  expect([typed.changes, milestoned.changes]).toEqual([["type: Bug"], ["milestone: 1.0"]]);
});

test("an event with none of its members says what is missing", () => {
  for (const event of ["issues", "pull_request", "pull_request_review", "issue_comment", "discussion"])
    expect(parse({ headers: { "x-github-event": event }, payload: {} })).toMatchObject({
      subject: null,
      missing_field: expect.any(String),
    });
});
