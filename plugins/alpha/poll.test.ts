import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import alpha from "./index.ts";
import { parse } from "./parse.ts";
import { settings } from "./settings.ts";
import { AlphaTracker } from "./test-tracker.ts";

const since = "2026-01-01T00:00:00.500Z";
let tracker: AlphaTracker;
let cursor: string | null;
let poll: () => Promise<string[]>;
beforeEach(async () => {
  tracker = new AlphaTracker().intercept("http://alpha.test", { http, setupServer });
  cursor = null;
  const { sources } = await setUpPlugin(alpha);
  const connection = settings.parse({ token: "test-token-1", api_url: tracker.url });
  poll = async () => {
    const polled = await sources?.alpha?.poll?.({ project: "octo/app", since, cursor }, callContext(connection));
    if (!polled) throw new Error("alpha cannot be polled");
    cursor = polled.cursor;
    return polled.events.map((event) => {
      const read = parse(event);
      expect(read.missing_field).toBeNull();
      expect(read.delivery_id).toBe(`poll:${read.change_key}`);
      return `${read.event_name} ${read.action} ${read.subject?.issue} ${read.actor}`;
    });
  };
});
afterEach(() => tracker.close());
const at = (minute: number, second = 0) => new Date(Date.UTC(2026, 0, 1, 10, minute, second)).toISOString().replace(".000", "");

describe("poll", () => {
  test("names the repository as the platform spells it", async () => {
    tracker.addIssue(1, at(0));
    tracker.addComment(1, "Hello", at(1));
    const { sources } = await setUpPlugin(alpha);
    const connection = settings.parse({ token: "test-token-1", api_url: tracker.url });
    const polled = await sources?.alpha?.poll?.({ project: "Octo/APP", since, cursor: null }, callContext(connection));
    expect(polled?.events.map((event) => parse(event).subject?.project)).toEqual(["octo/app", "octo/app"]);
  });

  test("reports new issues, comments and pull requests once", async () => {
    tracker.addIssue(1, at(0));
    tracker.addIssue(2, at(1), { pull_request: {} });
    tracker.pulls.push({
      number: 2,
      title: "PR",
      state: "open",
      created_at: at(1),
      updated_at: at(1),
      user: { login: "bob" },
      head: { ref: "fix" },
    });
    tracker.addComment(1, "Hello", at(2), "eve");
    expect(await poll()).toEqual(["issues opened 1 ann", "pull_request opened 2 bob", "issue_comment created 1 eve"]);
    expect(await poll()).toEqual([]);
    tracker.addIssue(3, at(2));
    expect(await poll(), "in a second that was already read").toEqual(["issues opened 3 ann"]);
  });

  test("an issue older than `since` is not new; one closed since is closed, by the actor in the list", async () => {
    tracker.addIssue(1, "2025-12-01T00:00:00Z", {
      updated_at: at(1),
      closed_at: at(1),
      state: "closed",
      closed_by: { login: "eve" },
    });
    tracker.addIssue(2, "2025-12-01T00:00:00Z", { updated_at: at(2) });
    tracker.addIssue(3, "2025-12-01T00:00:00Z");
    tracker.addIssue(4, at(3), { updated_at: at(4), closed_at: at(4), state: "closed" });
    expect(await poll()).toEqual(["issues closed 1 eve", "issues edited 2 null", "issues opened 4 ann", "issues closed 4 null"]);
  });

  test("a comment is not also an edit of its issue", async () => {
    const issue = tracker.addIssue(1, at(0));
    await poll();
    tracker.addComment(1, "Hello", at(5), "eve");
    issue.updated_at = at(5, 1);
    expect(await poll()).toEqual(["issue_comment created 1 eve"]);
    issue.updated_at = new Date(Date.now() + 60_000).toISOString();
    expect(await poll()).toEqual(["issues edited 1 null"]);
  });

  test("thousands of changes come in several polls, none lost and none twice", async () => {
    const many = Array.from({ length: 4500 }, (_, index) => index + 1);
    // 300 per second: more than a page.
    for (const number of many) tracker.addIssue(number, at(0, Math.floor(number / 300)));
    const all: string[] = [];
    for (let count = 0; count < 5; count++) all.push(...(await poll()));
    expect(all.toSorted()).toEqual(many.map((number) => `issues opened ${number} ann`).toSorted());
    expect(
      Math.max(...[1, 2].map((page) => tracker.requests.filter((request) => request.query.get("page") === String(page)).length)),
    ).toBeGreaterThan(5);
  }, 20_000);

  test("an issue changed between two polls is still new", async () => {
    for (let number = 1; number <= 1100; number++) tracker.addIssue(number, at(0, Math.floor(number / 50)));
    const first = await poll();
    expect(first.length).toBeLessThan(1100);
    const late = tracker.issues.at(-1);
    if (late) late.updated_at = at(30);
    expect(await poll()).toContain("issues opened 1100 ann");
  }, 20_000);

  test("an invalid cursor restarts the poll", async () => {
    tracker.addIssue(1, at(0));
    for (cursor of ["rubbish", "{}", '{"v":9}']) expect(await poll()).toEqual(["issues opened 1 ann"]);
  });

  test("the webhook of the same change has the same key", async () => {
    tracker.addIssue(1, at(0), { closed_at: at(1), updated_at: at(1), state: "closed" });
    const repository = { full_name: "Octo/App" };
    const webhook = (action: string, issue: object) =>
      parse({ headers: { "x-github-event": "issues" }, payload: { action, issue: issue as never, repository } });
    const { sources } = await setUpPlugin(alpha);
    const connection = settings.parse({ token: "test-token-1", api_url: tracker.url });
    const polled = await sources?.alpha?.poll?.({ project: "octo/app", since, cursor: null }, callContext(connection));
    expect(polled?.events.map((event) => parse(event).change_key)).toEqual([
      webhook("opened", { number: 1 }).change_key,
      webhook("closed", { number: 1, closed_at: "2026-01-01T10:01:00Z" }).change_key,
    ]);
  });
});
