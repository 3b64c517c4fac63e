import { expect, test } from "vitest";
import { possibleSubjects } from "./possible-subjects.ts";

const of = (text: string) => possibleSubjects(text, ["alpha", "gamma"]);

test.each([
  ["alpha:acme/webshop#42", ["alpha:acme/webshop#42"]],
  ["acme/webshop#42", ["alpha:acme/webshop#42", "gamma:acme/webshop#42"]],
  ["group/sub/app!7", ["alpha:group/sub/app#!7", "gamma:group/sub/app#!7"]],
  ["conf-7", ["alpha:CONF#CONF-7", "gamma:CONF#CONF-7"]],
  ["https://acme.atlassian.net/browse/CONF-7?focusedCommentId=1", ["alpha:CONF#CONF-7", "gamma:CONF#CONF-7"]],
  [
    "https://acme.atlassian.net/jira/software/projects/CONF/boards/1?selectedIssue=CONF-7",
    ["alpha:CONF#CONF-7", "gamma:CONF#CONF-7"],
  ],
  ["https://github.com/acme/webshop/pull/42/files#diff-1", ["alpha:acme/webshop#42", "gamma:acme/webshop#42"]],
])("%s", (text, expected) => {
  expect(of(text).sort()).toEqual([...expected].sort());
});

test("a project below a path of the host, with a merge request and with escapes", () => {
  expect(of("https://host.example/gitlab/group/app/-/merge_requests/7")).toContain("alpha:group/app#!7");
  expect(of("https://host.example/group/%61pp/-/issues/7")).toContain("alpha:group/app#7");
});

test("two ids in the address of a planned issue", () => {
  const [project, issue] = ["11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"];
  expect(possibleSubjects(`https://app.plane.so/acme/projects/${project}/issues/${issue}/`, ["delta"])).toEqual([
    `delta:${project}#${issue}`,
  ]);
});

test.each(["", "webshop", "https://", "https://host/%E0%A4%A/issues/1", "#7", "a#"])("%j means no subject", (text) => {
  expect(of(text)).toEqual([]);
});
