import { joinedText, type Source } from "@signalbox/sdk";
import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import beta from "./index.ts";
import { parse } from "./parse.ts";
import { BetaTracker } from "./test-tracker.ts";

const project = { id: 77, path_with_namespace: "octo/team/app" };
const ann = { id: 5, name: "Ann", username: "ann" };
const of = (event: string, payload: object, headers = {}) =>
  parse({ headers: { "x-gitlab-event": event, ...headers }, payload: { project, user: ann, ...payload } as never });
const note = (more: object) => ({ object_attributes: { id: 301, note: "Why?", ...more } });
const thread = "e2d22c5e7bc2dda3d55f3ddc6d48b65326e2612b";

describe("an answer goes where its event was", () => {
  let tracker: BetaTracker;
  let source: Source;
  let connection: Record<string, unknown>;
  let tools: NonNullable<Awaited<ReturnType<typeof setUpPlugin>>["tools"]>;
  beforeAll(async () => {
    tracker = new BetaTracker().intercept("http://beta.test", { http, setupServer });
    const made = await setUpPlugin(beta);
    if (!made.sources?.beta || !made.tools) throw new Error("beta has no source or no tools");
    source = made.sources.beta;
    tools = made.tools;
    connection = source.connection.parse({ token: "test-token-1", url: tracker.url });
    tracker.add("issues", 12, "2026-01-01T00:00:00Z");
    tracker.add("issues", 13, "2026-01-01T00:00:00Z", { confidential: true });
  });
  afterAll(() => tracker.close());

  const sha = "cfe32cf61b73a0d5e9f13e774abde7ff789b1660";
  const places: readonly [string, object, string][] = [
    [
      "a thread of a merge request",
      { ...note({ type: "DiffNote", discussion_id: thread }), merge_request: { iid: 4 } },
      `projects/octo%2Fteam%2Fapp/merge_requests/4/discussions/${thread}`,
    ],
    [
      "a commit",
      { ...note({ noteable_type: "Commit" }), commit: { id: sha } },
      `projects/octo%2Fteam%2Fapp/repository/commits/${sha}/discussions`,
    ],
    [
      "a thread of a commit",
      { ...note({ noteable_type: "Commit", type: "DiffNote", discussion_id: thread }), commit: { id: sha } },
      `projects/octo%2Fteam%2Fapp/repository/commits/${sha}/discussions/${thread}`,
    ],
    ["a snippet", { ...note({ noteable_type: "Snippet" }), snippet: { id: 53 } }, "projects/octo%2Fteam%2Fapp/snippets/53/notes"],
    [
      "an epic",
      { ...note({ noteable_type: "Epic" }), epic: { iid: 3 }, group: { full_path: "octo/team" } },
      "groups/octo%2Fteam/epics/9003/notes",
    ],
  ];
  test.each(places)("%s", async (_, payload, at) => {
    const { subject, thread: answered = null, missing_field, comment } = of("Note Hook", payload);
    expect({ missing_field, comment }).toEqual({ missing_field: null, comment: "301" });
    if (!subject) throw new Error("the event has no subject");
    const post = { subject, thread: answered, body: "The answer." };
    const call = callContext(connection);
    expect(await source.find(post, call)).toBeNull();
    const posted = await source.deliver(post, call);
    expect(tracker.placedNotes.all.at(-1)).toMatchObject({ at, body: expect.stringContaining("The answer.") });
    expect(await source.find(post, call)).toEqual(posted);
    await source.deliver(post, call);
    const [first, second] = (await source.findAll?.(post, call)) ?? [];
    expect(first).toEqual(posted);
    for (const _ of [1, 2]) await source.retract?.(post, second ?? posted, call);
    expect(await source.findAll?.(post, call)).toEqual([posted]);
  });

  describe("of something private", () => {
    const secret = (issue: string, more = {}) => ({
      subject: { project: "octo/team/app", issue },
      body: "x",
      private: true,
      ...more,
    });

    test("the answer is internal, also when a tool writes it", async () => {
      await source.deliver(secret("12"), callContext(connection));
      expect(tracker.notes.at(-1)).toMatchObject({ of: "issues/12", internal: true });
      const call = { ...callContext(connection), private: true };
      await tools.add_comment?.run({ project: "octo/team/app", issue: "12", body: "x" }, call);
      expect(tracker.notes.at(-1)).toMatchObject({ of: "issues/12", internal: true });
    });

    test("a note that the server publishes is removed, and the reason says so", async () => {
      tracker.internal = false;
      const before = tracker.notes.length;
      await expect(source.deliver(secret("12"), callContext(connection))).rejects.toMatchObject({ code: "unsupported" });
      expect(tracker.notes).toHaveLength(before);
      // A note on a confidential issue is as confidential as the issue.
      await source.deliver(secret("13"), callContext(connection));
      expect(tracker.notes).toHaveLength(before + 1);
      tracker.internal = true;
    });

    test("a note whose issue cannot be read is removed, and is posted again later", async () => {
      tracker.internal = false;
      const before = tracker.notes.length;
      tracker.fault({ kind: "status", status: 503, path: /\/issues\/13$/ });
      await expect(source.deliver(secret("13"), callContext(connection))).rejects.toMatchObject({
        code: "unavailable",
        retryable: true,
      });
      expect(tracker.notes).toHaveLength(before);
      tracker.heal();
      await source.deliver(secret("13"), callContext(connection));
      expect(tracker.notes).toHaveLength(before + 1);
      tracker.internal = true;
    });

    test("a public note that could not be removed is removed when it is looked for", async () => {
      tracker.internal = false;
      const before = tracker.notes.length;
      const call = callContext(connection);
      tracker.fault({ kind: "status", status: 503, path: /\/notes\/\d+$/ });
      await expect(source.deliver(secret("12"), call)).rejects.toMatchObject({ code: "unavailable" });
      expect(tracker.notes).toHaveLength(before + 1);
      tracker.heal();
      await expect(source.find(secret("12"), call)).rejects.toMatchObject({ code: "unsupported" });
      expect(tracker.notes).toHaveLength(before);
      tracker.internal = true;
    });

    test("nothing is sent to a place that has no internal notes, and no public description is written", async () => {
      const before = tracker.writes();
      for (const post of [secret("$53"), secret(`@${sha}`)])
        await expect(source.deliver(post, callContext(connection))).rejects.toMatchObject({ code: "unsupported" });
      const call = { ...callContext(connection), private: true };
      const input = { project: "octo/team/app", issue: "12", description: "x" };
      await expect(tools.update_description?.run(input, call)).rejects.toMatchObject({ code: "unsupported" });
      expect(tracker.writes()).toBe(before);
      await tools.update_description?.run({ ...input, issue: "13" }, call);
      expect(tracker.writes()).toBe(before + 1);
    });
  });

  test("the standing of a member follows from the access level", async () => {
    Object.assign(tracker.members, { 5: 50, 6: 30, 7: 20, 8: 10 });
    const standing = (id: string | null) =>
      source.standing?.(
        { project: "octo/team/app", author: { id, name: "x", kind: "human", standing: "unknown" } },
        callContext(connection),
      );
    expect(await Promise.all(["5", "6", "7", "8", "9", null].map(standing))).toEqual([
      "owner",
      "member",
      "collaborator",
      "contributor",
      "none",
      "unknown",
    ]);
    tracker.showsMembers = false;
    expect(await Promise.all(["5", "9"].map(standing))).toEqual(["unknown", "unknown"]);
    tracker.showsMembers = true;
  });
});

describe("parse", () => {
  test.each([
    ["ann", "human"],
    ["project_77_bot", "bot"],
    ["project_77_bot_3f2a9c0d", "bot"],
    ["group_12_bot1", "bot"],
    ["service_account_group_12_0123456789abcdef", "bot"],
    ["project_manager_bot", "human"],
    ["support-bot", "unknown"],
    ["ghost", "unknown"],
  ])("%s is %s", (username, kind) => {
    expect(of("Issue Hook", { user: { id: 9, username } }).author).toEqual({
      id: "9",
      name: username,
      kind,
      standing: "unknown",
    });
  });

  test("a repeated delivery has the same id, a recursive one has not", () => {
    const headers = { "idempotency-key": "k-1", "x-gitlab-event-uuid": "u-1", "x-gitlab-webhook-uuid": "w-1" };
    expect(of("Issue Hook", {}, headers)).toMatchObject({ delivery_id: "k-1", hook_id: "w-1" });
    expect(of("Issue Hook", {}, { ...headers, "x-gitlab-event-uuid": "u-2" }).delivery_id).toBe("k-1");
  });

  test.each([
    ["Confidential Issue Hook", {}],
    ["Confidential Note Hook", note({})],
    ["Note Hook", { ...note({ internal: true }), issue: { iid: 1 } }],
    ["Note Hook", { ...note({}), issue: { iid: 1, confidential: true } }],
    ["Issue Hook", { object_attributes: { iid: 1, confidential: true } }],
    ["Issue Hook", { event_type: "confidential_issue" }],
  ])("%s %j is private", (event, payload) => {
    expect(of(event, payload).private).toBe(true);
    expect(of("Note Hook", { ...note({}), issue: { iid: 1 } }).private).toBe(false);
  });

  test("an update names what changed, with its new commits", () => {
    const payload = {
      object_attributes: { iid: 7, action: "update", oldrev: "a".repeat(40), last_commit: { id: "b".repeat(40) } },
      changes: {
        title: { previous: "Old", current: "New\nline" },
        description: { previous: "x", current: "y" },
        assignees: { previous: [], current: [{ username: "bob" }] },
        updated_at: { previous: "a", current: "b" },
      },
    };
    const event = of("Merge Request Hook", payload);
    const changes = [
      "title: Old → New line",
      "description: edited",
      "assignees: none → bob",
      "commits: aaaaaaaaaaaa → bbbbbbbbbbbb",
    ];
    expect(event).toMatchObject({ snapshot: true, changes });
    for (const change of changes) expect(joinedText(event.text)).toContain(`- ${change}`);
    expect(of("Issue Hook", { object_attributes: { iid: 7, action: "open" }, changes: payload.changes }).changes).toEqual([]);
  });

  test("a hook of the server starts nothing, and says what to do", () => {
    for (const headers of [{ "x-gitlab-event": "System Hook" }, {}]) {
      const event = parse({ headers, payload: { event_name: "project_create", path_with_namespace: "octo/app" } });
      expect(event).toMatchObject({
        event_name: "System Hook",
        ignored: expect.stringContaining("add a webhook to the project"),
      });
    }
  });
});
