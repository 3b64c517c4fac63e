import { firstHeader, isValidHmacSha256, PluginError, type Source } from "@signalbox/sdk";
import { type ClientOf, findComment, login, placeOf, postComment, updateComment } from "./api.ts";
import { parse } from "./parse.ts";
import { react } from "./react.ts";
import { settings } from "./settings.ts";

export const source = (client: ClientOf): Source<typeof settings> => ({
  about: "Gitea 1.20 and later, and Forgejo; API version 1.",
  connection: settings,
  secrets: ["token", "webhook_secret"],
  required: ["url", "token"],
  // Declared as data, so that the host can verify and keep webhooks while this plugin is unavailable.
  signature: { type: "hmac-sha256", header: "x-gitea-signature", secret: "webhook_secret" },
  verify: ({ headers, body }, { webhook_secret }) => {
    if (!webhook_secret) return { ok: false, reason: "missing setting webhook_secret: without it webhooks cannot be verified" };
    const sent = firstHeader(headers, "x-gitea-signature");
    if (sent === null) return { ok: false, reason: "missing header X-Gitea-Signature" };
    return isValidHmacSha256(sent, body, webhook_secret)
      ? { ok: true }
      : { ok: false, reason: "header X-Gitea-Signature does not match the body" };
  },
  parse,
  account: (call) => login(client, call),
  check: async (call) => void (await login(client, call)),
  deliver: async ({ subject, body, private: isPrivate }, call) => {
    if (isPrivate) throw new PluginError("unsupported", "Gitea has no comments that only members can read");
    return postComment(client, placeOf(subject.project, subject.issue), body, call);
  },
  find: ({ subject }, call) => findComment(client, placeOf(subject.project, subject.issue), call),
  update: ({ subject, body }, { id }, call) =>
    updateComment(client, { ...placeOf(subject.project, subject.issue), id }, body, call),
  react: ({ subject, comment }, reaction, call) =>
    react(client, { ...placeOf(subject.project, subject.issue), comment }, reaction, call),
});
