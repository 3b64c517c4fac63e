import {
  addMarker,
  type CallContext,
  firstHeader,
  httpClient,
  isValidHmacSha256,
  type NewComment,
  PluginError,
  type PostedComment,
  readMarker,
  type Source,
} from "@signalbox/sdk";
import { z } from "zod";
import { parse } from "./parse.ts";

/** The settings of one tracker account. Operators set them with `signalbox plugin configure` or as an integration. */
const connection = z.object({
  url: z.url({ protocol: /^https?$/ }).describe("Address of the tracker's API."),
  token: z.string().min(1).optional().describe("Token that can write comments."),
  webhook_secret: z.string().min(1).optional().describe("Secret that signs the webhooks. Without it, all webhooks are refused."),
});
type Settings = z.output<typeof connection>;

const me = z.object({ login: z.string() });
const comment = z.object({ id: z.number(), body: z.string(), url: z.string() });
const comments = "/projects/{project}/issues/{issue}/comments";

export function source(fetch: typeof globalThis.fetch): Source<typeof connection> {
  const client = ({ connection: { url, token, webhook_secret } }: CallContext<Settings>) =>
    httpClient({
      platform: "my-plugin",
      base: url.replace(/\/+$/, ""),
      headers: token ? { authorization: `Bearer ${token}` } : {},
      fetch,
      secrets: [token, webhook_secret].filter((secret) => secret !== undefined),
    });
  const toPostedComment = ({ id, url }: z.output<typeof comment>): PostedComment => ({ id: String(id), url });
  const login = async (call: CallContext<Settings>) =>
    (await client(call).read({ route: "GET /me", schema: me, signal: call.signal })).data.login;

  return {
    about: "My tracker, API version 1.",
    connection,
    secrets: ["token", "webhook_secret"],
    required: ["url", "token"],
    // This declaration lets the host verify and store webhooks while the plugin is unavailable.
    signature: { type: "hmac-sha256", header: "x-signature", secret: "webhook_secret" },
    verify: ({ headers, body }, { webhook_secret }) => {
      if (!webhook_secret) return { ok: false, reason: "missing setting webhook_secret: without it webhooks cannot be verified" };
      const sent = firstHeader(headers, "x-signature");
      if (sent === null) return { ok: false, reason: "missing header X-Signature" };
      return isValidHmacSha256(sent, body, webhook_secret)
        ? { ok: true }
        : { ok: false, reason: "header X-Signature does not match the body" };
    },
    parse,
    account: login,
    check: async (call) => void (await login(call)),
    // The comment contains the key, so that `find` can find the comment if the response was lost.
    deliver: async ({ subject, body, private: isPrivate }: NewComment, call) => {
      // An answer to private content must not be public. If your tracker has internal comments, post one here.
      if (isPrivate) throw new PluginError("unsupported", "my-plugin has no internal comments");
      const sent = { body: addMarker(body, call.key) };
      const { data } = await client(call).write({
        route: `POST ${comments}`,
        path: { ...subject },
        body: sent,
        schema: comment,
        signal: call.signal,
      });
      return toPostedComment(data);
    },
    find: async ({ subject }: NewComment, call) => {
      const { data } = await client(call).read({
        route: `GET ${comments}`,
        path: { ...subject },
        schema: z.array(comment),
        signal: call.signal,
      });
      const found = data.find(({ body }) => readMarker(body) === call.key);
      return found ? toPostedComment(found) : null;
    },
  };
}
