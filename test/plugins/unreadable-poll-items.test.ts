import type { Plugin } from "@signalbox/sdk";
import { callContext, fakeCapabilities, setUpPlugin } from "@signalbox/sdk/testing";
import { describe, expect, test } from "vitest";
import alpha from "../../plugins/alpha/index.ts";
import beta from "../../plugins/beta/index.ts";
import delta from "../../plugins/delta/index.ts";
import gamma from "../../plugins/gamma/index.ts";
import gitea from "../../plugins/gitea/src/plugin.ts";
import linear from "../../plugins/linear/src/plugin.ts";

const now = new Date().toISOString();
const since = new Date(Date.now() - 3_600_000).toISOString();
const never = "soon";
const future = "9999-12-31T23:59:59.000Z";

type Answer = (path: string, query: URLSearchParams, body: string) => unknown;
interface Case {
  readonly name: string;
  readonly plugin: Plugin;
  readonly project: string;
  readonly settings: Record<string, unknown>;
  /** The platform's answers, with these items in its list of issues, and these in its list of comments. */
  readonly answers: (issues: unknown, comments: unknown) => Answer;
  readonly issue: (id: number, time: unknown) => object;
  readonly comment: (id: number, time: unknown) => object;
  /** The keys of issue 2 and comment 5. */
  readonly keys: readonly string[];
}

const server = "http://tracker.test";
const cases: Case[] = [
  {
    name: "alpha",
    plugin: alpha,
    project: "octo/app",
    settings: { api_url: server, token: "t" },
    answers: (issues, comments) => (path) => (path.endsWith("/comments") ? comments : issues),
    issue: (number, time) => ({ number, title: "A", state: "open", user: { login: "ann" }, created_at: now, updated_at: time }),
    comment: (id, time) => ({
      id,
      body: "Hello",
      user: { login: "ann" },
      issue_url: `${server}/repos/octo/app/issues/2`,
      created_at: time,
      updated_at: now,
    }),
    keys: ["issue_comment/created/octo/app/5", "issues/opened/octo/app#2"],
  },
  {
    name: "beta",
    plugin: beta,
    project: "octo/app",
    settings: { url: server, token: "t" },
    answers: (issues, comments) => (path) => {
      if (path.endsWith("/notes")) return comments;
      // Of an unexpected form, too.
      if (path.endsWith("/resource_label_events")) return { 0: null };
      return path.endsWith("/issues") ? issues : [];
    },
    issue: (iid, time) => ({ iid, title: "A", state: "opened", user_notes_count: 1, created_at: now, updated_at: time }),
    comment: (id, time) => ({ id, body: "Hello", author: { username: "ann" }, system: false, created_at: time }),
    keys: ["issue/octo/app#2/open", "note/octo/app/5"],
  },
  {
    name: "gamma",
    plugin: gamma,
    project: "APP",
    settings: { url: server, email: "a@example.com", api_token: "t" },
    answers: (issues, comments) => (path) => {
      if (path.endsWith("/comment")) return { comments, total: 100 };
      return path.endsWith("/search/jql") ? { issues } : {};
    },
    issue: (id, time) => ({
      id: String(id),
      key: `APP-${id}`,
      fields: { summary: "A", creator: { accountId: "ann" }, created: now, updated: time },
      changelog: { histories: [null, { id: "1", created: never }] },
    }),
    comment: (id, time) => ({ id: String(id), body: "Hello", author: { accountId: "ann" }, created: time }),
    keys: ["APP-2/comment/5", "APP-2/created"],
  },
  {
    name: "delta",
    plugin: delta,
    project: "8b6e1f5c-0000-4000-8000-000000000001",
    settings: { api_url: server, api_key: "k", workspace_slug: "acme" },
    answers: (issues, comments) => (path) => {
      if (path.endsWith("/comments/")) return comments;
      if (path.endsWith("/issues/")) return issues;
      return path.endsWith("/activities/") ? "none" : [];
    },
    issue: (id, time) => ({ id: `issue-${id}`, name: "A", created_at: now, updated_at: time }),
    comment: (id, time) => ({ id: `comment-${id}`, comment_html: "<p>Hello</p>", created_at: time }),
    keys: ["issue/issue-2/comment/comment-5", "issue/issue-2/created"],
  },
  {
    name: "linear",
    plugin: linear,
    project: "ENG",
    settings: { url: server, token: "t" },
    answers: (issues, comments) => (_path, _query, body) => {
      const pageInfo = { hasNextPage: false, endCursor: null };
      return body.includes("NewComments")
        ? { data: { comments: { nodes: comments, pageInfo } } }
        : { data: { issues: { nodes: issues, pageInfo } } };
    },
    issue: (id, time) => ({
      id: `id-${id}`,
      identifier: `ENG-${id}`,
      title: "A",
      url: `${server}/ENG-${id}`,
      createdAt: now,
      updatedAt: time,
      state: { id: "s", name: "Todo", type: "unstarted" },
      team: { id: "t", key: "ENG" },
      labels: { nodes: [] },
      history: { nodes: [7, { createdAt: never }] },
    }),
    comment: (id, time) => ({
      id: `comment-${id}`,
      body: "Hello",
      url: `${server}/c`,
      createdAt: time,
      updatedAt: now,
      issue: { id: "id-2", identifier: "ENG-2", title: "A", url: `${server}/ENG-2`, team: { id: "t", key: "ENG" } },
    }),
    keys: ["Comment/create/comment-5", "Issue/create/ENG-2"],
  },
  {
    name: "gitea",
    plugin: gitea,
    project: "octo/app",
    settings: { url: server, token: "t" },
    answers: (issues, comments) => (path, query) => {
      const list = path.endsWith("/comments") ? comments : issues;
      return query.get("page") === "1" || !Array.isArray(list) ? list : [];
    },
    issue: (number, time) => ({
      number,
      title: "A",
      state: "open",
      html_url: `${server}/octo/app/issues/${number}`,
      user: { id: 1, login: "ann" },
      created_at: now,
      updated_at: time ?? never,
    }),
    comment: (id, time) => ({
      id,
      body: "Hello",
      html_url: `${server}/c`,
      issue_url: `${server}/octo/app/issues/2`,
      user: { id: 1, login: "ann" },
      created_at: time,
      updated_at: now,
    }),
    keys: ["issue_comment/created/octo/app#2/5", "issues/opened/octo/app#2"],
  },
];

describe.each(cases)("a poll of $name", ({ name, plugin, project, settings, answers, issue, comment, keys }) => {
  const poll = async (issues: unknown, comments: unknown) => {
    const answer = answers(issues, comments);
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      return Response.json(answer(url.pathname, url.searchParams, String(init?.body ?? "")));
    };
    const source = (await setUpPlugin(plugin, { capabilities: fakeCapabilities({ fetch }) })).sources?.[name];
    const call = callContext(source?.connection.parse(settings) ?? {}, { deadline_ms: 300_000 });
    const batch = await source?.poll?.({ project, since, cursor: null }, call);
    if (!source || !batch) throw new Error(`${name} cannot be polled`);
    const events = await Promise.all(batch.events.map((event) => source.parse(event)));
    return { keys: events.map(({ change_key }) => change_key).toSorted(), batch };
  };

  test("skips items that cannot be read, and names them", async () => {
    const bad = (item: Case["issue"]) => [null, 3, [], "text", {}, item(7, future), item(8, undefined), item(9, never)];
    const found = await poll([...bad(issue), issue(2, now)], [...bad(comment), comment(5, now)]);
    expect(found.keys).toEqual(keys);
    const skipped = (found.batch.unreadable ?? []).map(({ item }) => item);
    const inBothLists = (end: RegExp) => new Set(skipped.filter((text) => end.test(text))).size;
    for (const end of [/: null$/, /: number$/, /: array$/, /: string$/, /: object$/, /: \S*7$/, /: \S*8$/, /: \S*9$/])
      expect(inBothLists(end), `${end} in ${skipped.join(", ")}`).toBeGreaterThanOrEqual(2);
    expect(found.batch.cursor).not.toContain("9999");
    for (const { item, reason } of found.batch.unreadable ?? [])
      expect(reason, item).toMatch(/7$/.test(item) ? /is in the future$/ : /./);
  });

  test("fails if the list itself is not as expected", async () => {
    await expect(poll({ 0: issue(2, now) }, [])).rejects.toMatchObject({ code: "unavailable" });
  });
});
