import { PluginError, type Source, type Subject } from "@signalbox/sdk";
import { placeOf } from "./address.ts";
import type { ClientOf } from "./client.ts";
import { check, deleteComment, findComments, login, postComment, updateComment } from "./comments.ts";
import { closeIssue, createIssue, describe } from "./issues.ts";
import { parse } from "./parse.ts";
import { standingOf } from "./people.ts";
import { poll } from "./poll.ts";
import { react } from "./react.ts";
import { settings } from "./settings.ts";
import { verify } from "./verify.ts";
import { checkWebhook } from "./webhook.ts";

const at = ({ project, issue }: Subject) => placeOf(issue, project);

export const source = (client: ClientOf): Source<typeof settings> => ({
  about: "Gitea 1.20 and later, and Forgejo; API version 1.",
  connection: settings,
  maxCommentLength: 65_000,
  secrets: ["token", "webhook_secret"],
  required: ["url", "token"],
  // Declared as data, so that the host can verify and keep webhooks while this plugin is unavailable.
  signature: { type: "hmac-sha256", header: "x-gitea-signature", secret: "webhook_secret" },
  verify,
  parse,
  account: (call) => login(client, call),
  check: async (call) => check(client, call),
  deliver: async ({ subject, body, private: isPrivate }, call) => {
    if (isPrivate) throw new PluginError("unsupported", "Gitea and Forgejo have no comments that only members can read");
    return postComment(client, at(subject), body, call);
  },
  find: async ({ subject }, call) => (await findComments(client, at(subject), call))[0] ?? null,
  findAll: async ({ subject }, call) => findComments(client, at(subject), call),
  retract: async ({ subject }, { id }, call) => deleteComment(client, { ...at(subject), id }, call),
  update: async ({ subject, body }, { id }, call) => updateComment(client, { ...at(subject), id }, body, call),
  react: async ({ subject, comment }, reaction, call) => react(client, { ...at(subject), comment }, reaction, call),
  describe: async ({ subject }, call) => describe(client, at(subject), call),
  standing: async (query, call) => standingOf(client, query, call),
  checkWebhook: async (wanted, call) => checkWebhook(client, wanted, call),
  createIssue: async (issue, call) => createIssue(client, issue, call),
  closeIssue: async (issue, call) => closeIssue(client, issue, call),
  poll: async (from, call) => poll(client, from, call),
});
