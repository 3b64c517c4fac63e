import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { PluginError } from "../../errors.ts";
import { addMarker, hasMarker, readMarker } from "../../marker.ts";
import { definePlugin, type Plugin, tool } from "../../plugin.ts";
import type { CallContext, NewComment, PostedComment, Source } from "../../source.ts";
import type { SourceEvent, WebhookPayload } from "../../source-event.ts";
import type { SourceFixtures, ToolFixtures } from "../fixtures.ts";
import { startSampleTracker } from "./tracker.ts";

const settings = z.object({ token: z.string(), url: z.url(), secret: z.string().optional() });
type Settings = z.output<typeof settings>;
type Fetch = typeof globalThis.fetch;
const answer = z.object({ id: z.number().optional(), login: z.string().optional(), comments: z.array(z.string()).optional() });

/** One request; its failures are reported as the contract asks. */
async function ask(
  fetch: Fetch,
  { connection, signal }: CallContext<Settings>,
  path: string,
  body?: string,
): Promise<z.output<typeof answer>> {
  let response: Response;
  let read: unknown;
  try {
    response = await fetch(`${connection.url}${path}`, {
      signal,
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify({ body }) }),
    });
    if (response.ok) read = await response.json();
  } catch {
    throw new PluginError(signal.aborted ? "timeout" : "unavailable", `${path} did not answer`);
  }
  const wait = Number(response.headers.get("retry-after"));
  if (response.status === 401) throw new PluginError("unauthorized", "the token was refused");
  if (response.status === 429) throw new PluginError("rate_limited", "too many requests", { retry_after_ms: wait * 1000 });
  if (!response.ok) throw new PluginError("unavailable", `${path} answered ${response.status}`);
  return answer.parse(read);
}

const text = (value: unknown): string | null =>
  typeof value === "string" && value.trim() ? value.replaceAll("\0", " ").toWellFormed().trim() : null;
const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

function parse({ headers, payload }: WebhookPayload): SourceEvent {
  const id = text(member(headers, "x-id"));
  const body = text(member(payload, "comment")) ?? "";
  return {
    delivery_id: id && id.length <= 200 ? id : null,
    event_name: "comment",
    action: null,
    subject: text(member(payload, "at")) === null ? null : { project: "p", issue: String(text(member(payload, "at"))) },
    actor: text(member(payload, "by")),
    text: body,
    marked: hasMarker(body),
    occurred_at: null,
    missing_field: null,
  };
}

export function sampleSource(fetch: Fetch): Source<typeof settings> {
  const find = async (_: NewComment, call: CallContext<Settings>): Promise<PostedComment | null> => {
    const { comments = [] } = await ask(fetch, call, "/comments");
    const index = comments.findIndex((comment) => readMarker(comment) === call.key);
    return index < 0 ? null : { id: String(index + 1), url: `${call.connection.url}/${index + 1}` };
  };
  return {
    about: "A sample.",
    connection: settings,
    secrets: ["token", "secret"],
    required: ["token"],
    verify: ({ headers, body }, { secret }) => {
      if (!secret) return { ok: true };
      const good = createHmac("sha256", secret).update(body).digest();
      const signature = /^[0-9a-f]{64}$/.test(headers["x-sign"] ?? "") ? Buffer.from(headers["x-sign"] ?? "", "hex") : null;
      return signature && timingSafeEqual(signature, good) ? { ok: true } : { ok: false, reason: "x-sign is wrong" };
    },
    parse,
    account: async (call) => (await ask(fetch, call, "/me")).login ?? null,
    check: async (call) => void (await ask(fetch, call, "/me")),
    deliver: async ({ body, private: isPrivate }, call) => {
      if (isPrivate) throw new PluginError("unsupported", "every comment is public");
      const { id } = await ask(fetch, call, "/comments", addMarker(body, call.key));
      return { id: String(id), url: `${call.connection.url}/${id}` };
    },
    find,
    poll: async ({ project, cursor }, call) => {
      if (project !== "p") throw new PluginError("invalid_input", "there is one project, p");
      const { comments = [] } = await ask(fetch, call, "/comments");
      const eventWith = (id: string, comment: string) => ({
        headers: { "x-id": `poll:${id}` },
        payload: { comment, by: "ann", at: "1" },
      });
      const from = /^\d{1,9}$/.test(cursor ?? "") ? Number(cursor) : null;
      const events = comments.slice(from ?? 0).map((comment, at) => eventWith(String((from ?? 0) + at), comment));
      return { events: from === null ? [eventWith("issue", "The issue"), ...events] : events, cursor: String(comments.length) };
    },
    createIssue: async ({ title, body }, call) => {
      const { id } = await ask(fetch, call, "/comments", title);
      const event = { headers: {}, payload: { comment: `${title} ${body}`, by: "bot", at: String(id) } };
      return { key: String(id), url: `${call.connection.url}/${id}`, event };
    },
    closeIssue: async ({ key }, call) => void (await ask(fetch, call, "/comments", `closed ${key}`)),
  };
}

/** The sample, with some of its members replaced: how the suites are shown plugins that are wrong. */
export const samplePlugin = (
  change: (source: Source<typeof settings>, fetch: Fetch) => Partial<Source<typeof settings>> = () => ({}),
): Plugin =>
  definePlugin({
    id: "sample",
    version: "1.0.0",
    sdk: "^0.1.0",
    config: z.object({}),
    needs: ["fetch", "log"],
    setup: ({ fetch }) => {
      const source = sampleSource(fetch);
      return { sources: { sample: { ...source, ...change(source, fetch) } } };
    },
  });

export const sampleFixtures: SourceFixtures = {
  connection: (url) => ({ token: "sample-token-1", url }),
  signature: {
    settings: { secret: "sample-secret-1" },
    sign: (body) => ({ "x-sign": createHmac("sha256", "sample-secret-1").update(body).digest("hex") }),
    covers_body: true,
  },
  golden: [{ name: "a comment", headers: {}, payload: { comment: "Hi", by: "ann" }, expect: { text: "Hi", actor: "ann" } }],
  delivery_header: "x-id",
  comment_event: (body) => ({ headers: {}, payload: { comment: body } }),
  own_event: { headers: {}, payload: { comment: "Done.", by: "bot" } },
  subject: { project: "p", issue: "1" },
  tracker: startSampleTracker,
};

const input = z.object({ body: z.string().min(1).describe("What to write.") });
const output = z.object({ id: z.string() });
type Write = ReturnType<typeof tool<typeof input, typeof output, Settings>>;

export const sampleTools = (change: (write: Write, fetch: Fetch) => Partial<Write> = () => ({})): Plugin =>
  definePlugin({
    id: "sample",
    version: "1.0.0",
    sdk: "^0.1.0",
    config: z.object({}),
    needs: ["fetch"],
    setup: ({ fetch }) => {
      const source = sampleSource(fetch);
      const subject = { project: "p", issue: "1" };
      const write: Write = tool({
        about: "Write a comment.",
        effect: "write",
        input,
        output,
        run: async ({ body }, call) => ({ id: (await source.deliver({ subject, body }, call)).id }),
        find: async ({ body }, call) => {
          const found = await source.find({ subject, body }, call);
          return found && { id: found.id };
        },
      });
      return { tools: { write: { ...write, ...change(write, fetch) } } };
    },
  });

export const sampleToolFixtures: ToolFixtures = {
  connection: sampleFixtures.connection,
  secrets: ["sample-token-1"],
  tracker: startSampleTracker,
  tools: { write: { inputs: [{ body: "Hello" }], refused: [{}, { body: 1 }] } },
};
