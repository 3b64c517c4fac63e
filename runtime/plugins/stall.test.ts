import { type Contributions, hasMarker, inMemoryThrottle, readMarker } from "@signalbox/sdk";
import { callContext, fakeCapabilities, setUpPlugin } from "@signalbox/sdk/testing";
import { beforeAll, expect, test } from "vitest";
import { idleStall, maxStallMs, mebibyte, repeat, repeatedStallOf } from "../platform/test-stall.ts";
import { builtIns } from "./built-ins.ts";

// alpha and beta read and write Markdown unchanged, in the host's event loop.

const pieces: readonly string[] = [
  "<!-- signalbox:",
  "<!-- signalbox:k -->",
  "<!--",
  "-->",
  "<",
  " ",
  "\n",
  "\r",
  "\t",
  "a",
  "\u0000",
  "\ud800",
  "> ",
  "> <!-- signalbox:k -->\n",
  "`",
  "```\n",
  "~~~\n",
  "/close\n",
  "```\n/a\n```\n",
  "\\",
  '"',
];

let plugins: Readonly<Record<string, Contributions>> = {};
/** The JSON with which the platform responds to a request. */
let answer: (url: string) => string = () => "{}";
const fetch: typeof globalThis.fetch = async (input) =>
  new Response(answer(String(input instanceof Request ? input.url : input)), {
    headers: { "content-type": "application/json" },
  });

/** Each step reads the text once or a few times. Work that grows with the square of 1 MiB takes minutes. */
const maxPassMs = 4 * maxStallMs;

beforeAll(async () => {
  const capabilities = fakeCapabilities({ fetch, throttle: inMemoryThrottle() });
  const made = (["alpha", "beta"] as const).map(
    async (id) => [id, await setUpPlugin((await builtIns[id]()).default, { capabilities })] as const,
  );
  plugins = Object.fromEntries(await Promise.all(made));
}, 60_000);

const parsed = (source: string, event: string, payload: unknown) =>
  Promise.resolve(
    plugins[source]?.sources?.[source]?.parse({ headers: { [`x-${source}-event`]: event }, payload: payload as never }),
  );

const connections: Readonly<Record<string, Record<string, unknown>>> = {
  alpha: { token: "t", api_url: "https://alpha.example" },
  beta: { token: "t", url: "https://beta.example" },
};
const issue = { issue: 1, project: "a/b" };
function call(source: string, name: string, method: "run" | "find", input: object): Promise<unknown> {
  const settings = plugins[source]?.sources?.[source]?.connection.parse(connections[source]);
  const tool = plugins[source]?.tools?.[name];
  return Promise.resolve(tool?.[method]?.({ ...issue, ...input }, callContext(settings, { key: "k" })));
}

const user = { login: "eve", username: "eve" };
const repository = { full_name: "a/b" };
const project = { path_with_namespace: "a/b" };
const common = { id: 1, title: "T", state: "open", labels: [], user, author: user, web_url: "u", html_url: "u" };
const issueOf = (text: string) => ({ ...common, number: 1, iid: 1, body: text, description: text });
const commentOf = (text: string) => ({ ...common, body: text, system: false });
/** Responds with an issue or its comments, prepared in advance, because the test's own work must not count. */
function either(text: string): (url: string) => string {
  const [comments, issue] = [JSON.stringify([commentOf(text)]), JSON.stringify(issueOf(text))];
  return (url) => (/(?:comments|notes)/.test(url) ? comments : issue);
}

interface Path {
  readonly name: string;
  readonly reply?: (text: string) => (url: string) => string;
  readonly run: (text: string) => Promise<unknown>;
}
const paths: readonly Path[] = [
  {
    name: "alpha: webhook of an issue",
    run: (text) => parsed("alpha", "issues", { action: "opened", issue: issueOf(text), repository }),
  },
  {
    name: "alpha: webhook of a comment",
    run: (text) =>
      parsed("alpha", "issue_comment", { action: "created", issue: issueOf(text), comment: commentOf(text), repository }),
  },
  {
    name: "beta: webhook of an issue",
    run: (text) => parsed("beta", "Issue Hook", { object_attributes: issueOf(text), project }),
  },
  {
    name: "beta: webhook of a comment",
    run: (text) =>
      parsed("beta", "Note Hook", { object_attributes: { ...commentOf(text), note: text }, issue: issueOf(text), project }),
  },
  ...["alpha", "beta"].flatMap((source): Path[] => [
    { name: `${source}: read an issue and its comments`, reply: either, run: () => call(source, "get_issue", "run", {}) },
    {
      name: `${source}: find the comment with a marker`,
      reply: either,
      run: () => call(source, "add_comment", "find", { body: "x" }),
    },
    {
      name: `${source}: post a comment`,
      reply: () => () => JSON.stringify(commentOf("x")),
      run: (body) => call(source, "add_comment", "run", { body }),
    },
  ]),
  {
    name: "marker",
    run: async (text) => [readMarker(text), hasMarker(`${text}<!-- signalbox:k -->`)],
  },
];

test.each(paths)(
  "$name: 1 MiB does not hold the event loop",
  async ({ reply, run }) => {
    const stallOn = (text: string) => {
      answer = reply?.(text) ?? answer;
      return repeatedStallOf(() => run(text), maxPassMs);
    };
    // The first call compiles what later calls use.
    await stallOn("*Hello*");
    const idle = await idleStall();
    const stalls: [piece: string, stall: number][] = [];
    for (const piece of pieces) stalls.push([piece, await stallOn(repeat(piece, mebibyte))]);
    expect(
      stalls.filter(([, stall]) => stall > maxPassMs + idle),
      `idle: ${idle} ms`,
    ).toEqual([]);
  },
  60_000,
);
