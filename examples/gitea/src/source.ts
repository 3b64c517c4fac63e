import { headerOf, isHmacSha256, type Source } from "@signalbox/sdk";
import { type ClientOf, findComment, login, placeOf, postComment } from "./api.ts";
import { parse } from "./parse.ts";
import { settings } from "./settings.ts";

export const source = (client: ClientOf): Source<typeof settings> => ({
  about: "Gitea 1.20 and later, and Forgejo, by API version 1.",
  connection: settings,
  secrets: ["token", "webhook_secret"],
  required: ["url", "token"],
  // Said in data too, so that webhooks are taken in and kept also while this plugin is away.
  signature: { type: "hmac-sha256", header: "x-gitea-signature", secret: "webhook_secret" },
  verify: ({ headers, body }, { webhook_secret }) => {
    if (!webhook_secret) return { ok: false, reason: "the setting webhook_secret is not set, so nothing can be verified" };
    const sent = headerOf(headers, "x-gitea-signature");
    if (sent === null) return { ok: false, reason: "header X-Gitea-Signature is missing" };
    return isHmacSha256(sent, body, webhook_secret)
      ? { ok: true }
      : { ok: false, reason: "header X-Gitea-Signature is not that of this body" };
  },
  parse,
  account: (call) => login(client, call),
  check: async (call) => void (await login(client, call)),
  deliver: ({ subject, body }, call) => postComment(client, placeOf(subject.project, subject.issue), body, call),
  find: ({ subject }, call) => findComment(client, placeOf(subject.project, subject.issue), call),
});
