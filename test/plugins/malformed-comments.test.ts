import { addMarker, invisibleMarker, type Plugin } from "@signalbox/sdk";
import { callContext, fakeCapabilities, setUpPlugin } from "@signalbox/sdk/testing";
import { describe, expect, test } from "vitest";
import alpha from "../../plugins/alpha/index.ts";
import beta from "../../plugins/beta/index.ts";
import delta from "../../plugins/delta/index.ts";
import gamma from "../../plugins/gamma/index.ts";
import gitea from "../../plugins/gitea/src/plugin.ts";
import linear from "../../plugins/linear/src/plugin.ts";

const now = new Date().toISOString();
const server = "http://tracker.test";
const key = "key-1";

interface Case {
  readonly name: string;
  readonly plugin: Plugin;
  readonly subject: { readonly project: string; readonly issue: string };
  readonly settings: Record<string, unknown>;
  /** The platform's answers, with these comments. */
  readonly answers: (comments: readonly unknown[]) => (path: string, body: string) => unknown;
  /** A comment of ours with the key, or of another account. */
  readonly comment: (id: number, isOurs: boolean) => Record<string, unknown>;
  /** A member of a comment that is needed besides its text, and the one that tells whose it is. */
  readonly members: readonly [other: string, ours: string];
}

const user = { id: 1, login: "ann" };
const text = (isOurs: boolean) => (isOurs ? addMarker("Done.", key) : "Hello");
const github = (id: number, isOurs: boolean) => ({ id, body: text(isOurs), html_url: `${server}/${id}`, user });
const cases: Case[] = [
  {
    name: "alpha",
    plugin: alpha,
    subject: { project: "octo/app", issue: "2" },
    settings: { api_url: server, token: "t" },
    answers: (comments) => () => comments,
    comment: github,
    members: ["id", "body"],
  },
  {
    name: "beta",
    plugin: beta,
    subject: { project: "octo/app", issue: "2" },
    settings: { url: server, token: "t" },
    answers: (comments) => () => comments,
    comment: (id, isOurs) => ({ id, body: text(isOurs), author: { username: "ann" } }),
    members: ["id", "body"],
  },
  {
    name: "gitea",
    plugin: gitea,
    subject: { project: "octo/app", issue: "2" },
    settings: { url: server, token: "t" },
    answers: (comments) => () => comments,
    comment: github,
    members: ["id", "body"],
  },
  {
    name: "gamma",
    plugin: gamma,
    subject: { project: "APP", issue: "APP-2" },
    settings: { url: server, token: "t", email: "e@example.com" },
    answers: (comments) => () => ({ comments, total: comments.length, startAt: 0 }),
    comment: (id, isOurs) => ({ id: `${id}`, body: "Hello", properties: isOurs ? [{ key: "signalbox", value: { key } }] : [] }),
    members: ["id", "properties"],
  },
  {
    name: "delta",
    plugin: delta,
    subject: { project: "9c1d1f0e-6f0b-4f7e-8f43-2f1f5ab9a001", issue: "9c1d1f0e-6f0b-4f7e-8f43-2f1f5ab9a002" },
    settings: { api_url: server, api_key: "t", workspace_slug: "w" },
    answers: (comments) => () => ({ results: comments, next_page_results: false }),
    comment: (id, isOurs) => ({
      id: `c${id}`,
      comment_html: "<p>Hello</p>",
      external_source: isOurs ? "signalbox" : null,
      external_id: isOurs ? key : null,
    }),
    members: ["id", "external_id"],
  },
  {
    name: "linear",
    plugin: linear,
    subject: { project: "APP", issue: "APP-2" },
    settings: { api_url: `${server}/graphql`, api_key: "t" },
    answers: (comments) => (_, body) => {
      if (body.includes("CommentById")) return { data: { comments: { nodes: [] } } };
      return { data: { issue: { id: "i", comments: { nodes: comments, pageInfo: { hasPreviousPage: false } } } } };
    },
    comment: (id, isOurs) => ({
      id: `c${id}`,
      body: isOurs ? `${invisibleMarker(key)}Done.` : "Hello",
      url: `${server}/${id}`,
      createdAt: now,
    }),
    members: ["url", "body"],
  },
];

describe.each(cases)("$name looks for a comment of ours", ({ name, plugin, subject, settings, answers, comment, members }) => {
  const find = async (comments: readonly unknown[]) => {
    const answer = answers(comments);
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      return Response.json(answer(url.pathname, String(init?.body ?? "")));
    };
    const source = (await setUpPlugin(plugin, { capabilities: fakeCapabilities({ fetch }) })).sources?.[name];
    if (!source) throw new Error(`${name} has no source`);
    const call = { ...callContext(source.connection.parse(settings), { deadline_ms: 300_000 }), key };
    return source.find({ subject, body: "Done.", thread: null }, call);
  };
  const [other, ours] = members;

  test("among malformed ones of others", async () => {
    const foreign = [null, { ...comment(1, false), [other]: {} }, { ...comment(2, false), [other]: undefined }];
    expect(await find([...foreign, comment(5, true), ...foreign])).toMatchObject({ id: expect.stringContaining("5") });
    expect(await find(foreign)).toBeNull();
  });

  test("and fails if a malformed one may be ours, because it would be posted twice", async () => {
    for (const bad of [
      { ...comment(5, true), [other]: {} },
      { ...comment(5, true), [ours]: {} },
    ])
      await expect(find([comment(1, false), bad])).rejects.toMatchObject({ code: "unavailable" });
  });
});

test.each(["gitea", "linear"])("%s shows the comments that can be read", async (name) => {
  const { plugin, subject, settings, answers, comment, members } = cases.find((one) => one.name === name) as Case;
  const bad = [null, 3, {}, { ...comment(1, false), [members[0]]: {} }, { ...comment(2, false), body: undefined }];
  const answer = answers([...bad, comment(5, false), ...bad]);
  const fetch: typeof globalThis.fetch = async (_, init) => Response.json(answer("", String(init?.body ?? "")));
  const { sources, tools } = await setUpPlugin(plugin, { capabilities: fakeCapabilities({ fetch }) });
  const call = callContext(sources?.[name]?.connection.parse(settings) ?? {}, { deadline_ms: 300_000 });
  expect(await tools?.list_comments?.run(subject, call)).toMatchObject({ comments: [{ body: "Hello" }] });
});
