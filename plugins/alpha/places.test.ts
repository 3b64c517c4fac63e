import { joinedText, type Source } from "@signalbox/sdk";
import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import alpha from "./index.ts";
import { parse } from "./parse.ts";
import { AlphaTracker } from "./test-tracker.ts";

const repository = { full_name: "octo/other" };
const eve = { login: "eve", id: 5, type: "User" };
const of = (event: string, payload: object) =>
  parse({ headers: { "x-github-event": event }, payload: { repository, sender: eve, ...payload } as never });

describe("an answer goes where its event was", () => {
  let tracker: AlphaTracker;
  let source: Source;
  let connection: Record<string, unknown>;
  beforeAll(async () => {
    tracker = new AlphaTracker().intercept("http://alpha.test", { http, setupServer });
    const found = (await setUpPlugin(alpha)).sources?.alpha;
    if (!found) throw new Error("alpha has no source");
    source = found;
    connection = source.connection.parse({ token: "test-token-1", api_url: tracker.url });
  });
  afterAll(() => tracker.close());

  const review = { id: 31, in_reply_to_id: 30, body: "Why?", path: "a.c", line: 3, user: eve };
  const pull_request = { number: 4, title: "Mend it" };
  const discussion = { number: 9, node_id: "D_k1", title: "How?", body: "…", user: eve };
  const places: readonly [string, object, string, object][] = [
    [
      "pull_request_review_comment",
      { action: "created", pull_request, comment: review },
      "/repos/octo/other/pulls/4/comments",
      { in_reply_to_id: 30 },
    ],
    [
      "commit_comment",
      { action: "created", comment: { id: 8, commit_id: "0d1a26e6", body: "Hm", path: "a.c", position: 2 } },
      "/repos/octo/other/commits/0d1a26e6/comments",
      { path: "a.c", position: 2 },
    ],
    ["discussion", { action: "created", discussion }, "D_k1", {}],
    [
      "discussion_comment",
      { action: "created", discussion, comment: { id: 1, node_id: "DC_x", body: "So", user: eve } },
      "DC_x",
      {},
    ],
    [
      "issues",
      {
        action: "transferred",
        issue: { number: 12 },
        changes: { new_issue: { number: 3 }, new_repository: { full_name: "octo/new" } },
      },
      "/repos/octo/new/issues/3/comments",
      {},
    ],
  ];

  test.each(places)("%s", async (event, payload, at, more) => {
    const { subject, thread = null, missing_field } = of(event, payload);
    expect(missing_field).toBeNull();
    if (!subject) throw new Error("the event has no subject");
    const post = { subject, thread, body: "The answer." };
    const call = callContext(connection);
    expect(await source.find(post, call)).toBeNull();
    const posted = await source.deliver(post, call);
    expect(tracker.placedComments.all.at(-1)).toMatchObject({ at, ...more, body: expect.stringContaining("The answer.") });
    expect(await source.find(post, call)).toEqual(posted);
    await source.deliver(post, call);
    const [first, second] = (await source.findAll?.(post, call)) ?? [];
    expect(first).toEqual(posted);
    for (const _ of [1, 2]) await source.retract?.(post, second ?? posted, call);
    expect(await source.findAll?.(post, call)).toEqual([posted]);
  });

  test("the platform has no private comments, and a token may be kept out of discussions: nothing is posted", async () => {
    const subject = { project: "octo/app", issue: "9" };
    const before = tracker.writes();
    const secret = { subject, body: "x", private: true };
    await expect(source.deliver(secret, callContext(connection))).rejects.toMatchObject({ code: "unsupported" });
    tracker.placedComments.refuses = true;
    const post = { subject, thread: "discussion:D_k1", body: "x" };
    await expect(source.deliver(post, callContext(connection))).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("cannot post in discussions"),
    });
    expect(tracker.writes()).toBe(before);
  });

  test("looks up the standing of an author whose event does not contain it", async () => {
    tracker.permissions.ann = "write";
    const standing = (name: string) =>
      source.standing?.(
        { project: "octo/app", author: { id: null, name, kind: "human", standing: "unknown" } },
        callContext(connection),
      );
    expect([await standing("ann"), await standing("octo"), await standing("eve"), await standing("x[bot]")]).toEqual([
      "collaborator",
      "owner",
      "unknown",
      "unknown",
    ]);
  });
});

describe("parse", () => {
  const issue = { number: 1, title: "T", user: { login: "ann" }, author_association: "OWNER" };

  test.each([
    ["the author of the issue", { sender: { login: "ann", id: 1, type: "User" } }, "human", "owner"],
    ["somebody else", { sender: { login: "bob", id: 2, type: "User" } }, "human", "unknown"],
    ["an app", { sender: { login: "helper[bot]", id: 3, type: "Bot" } }, "bot", "unknown"],
    ["an account of an unknown type", { sender: { login: "bob" } }, "unknown", "unknown"],
  ])("%s", (_, more, kind, standing) => {
    expect(of("issues", { action: "labeled", issue, label: { name: "bug" }, ...more }).author).toMatchObject({ kind, standing });
  });

  test("the comment's association is its author's", () => {
    const comment = { id: 7, body: "Hi", user: eve, author_association: "FIRST_TIME_CONTRIBUTOR" };
    const event = of("issue_comment", { action: "created", issue, comment });
    expect(event).toMatchObject({ comment: "7", author: { id: "5", name: "eve", standing: "none" }, snapshot: false });
    expect(joinedText(event.text)).toContain("## Comment by eve\n\nHi");
  });

  test.each([
    ["unlabeled", { label: { name: "needs: triage" } }, ["label removed: needs: triage"], true],
    [
      "edited",
      { changes: { title: { from: "Old\ntitle" }, body: { from: "" } } },
      ["title: Old title → T", "description: edited"],
      true,
    ],
    ["assigned", { assignee: { login: "bob" } }, ["assignee added: bob"], true],
    ["closed", { issue: { ...issue, state_reason: "not_planned" } }, ["state: open → closed (not planned)"], false],
    ["opened", {}, [], false],
  ])("issues %s names what changed", (action, more, changes, snapshot) => {
    const event = of("issues", { action, issue, ...more });
    expect(event).toMatchObject({ changes, snapshot });
    for (const change of changes) expect(joinedText(event.text)).toContain(`- ${change}`);
  });

  test("a review comment shows file, lines and diff, which cannot leave their fence", () => {
    const comment = { id: 7, body: "Why?", path: "a.c", start_line: 3, line: 5, diff_hunk: "@@ -1 +1 @@\n+```\n+x", user: eve };
    const { text } = of("pull_request_review_comment", {
      action: "created",
      pull_request: { number: 4, title: "Mend it", body: "It was broken." },
      comment,
    });
    for (const part of ["- File: a.c\n- Line: 3-5", "````diff\n@@ -1 +1 @@\n+```\n+x\n````", "Why?", "It was broken."])
      expect(joinedText(text)).toContain(part);
  });
});
