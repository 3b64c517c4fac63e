import { type CallContext, PluginError, type Source } from "@signalbox/sdk";
import { issueOf } from "./address.ts";
import type { ClientOf } from "./client.ts";
import { type Account, deleteComment, findComment, postComment, updateComment } from "./comments.ts";
import { closeIssue, createdEvent, createIssue, describe } from "./issues.ts";
import { parse } from "./parse.ts";
import { accountOf, check, standingOf } from "./people.ts";
import { poll } from "./poll.ts";
import { react } from "./react.ts";
import { type Settings, settings } from "./settings.ts";
import { verify } from "./verify.ts";
import { checkWebhook } from "./webhook.ts";

export function source(clientOf: ClientOf): Source<typeof settings> {
  const account = ({ connection, signal }: CallContext<Settings>): Account => ({ client: clientOf(connection), signal });
  const at = ({ project, issue }: { project: string; issue: string }) => issueOf(issue, project);
  return {
    about: "Linear, by its GraphQL API.",
    connection: settings,
    maxCommentLength: 100_000,
    secrets: ["token", "webhook_secret"],
    required: ["token"],
    // Declared as data, so that the host can verify and keep webhooks while this plugin is unavailable.
    signature: { type: "hmac-sha256", header: "linear-signature", secret: "webhook_secret" },
    verify: (request, connection) => verify(request, connection),
    parse,
    account: (call) => accountOf(account(call)),
    check: async (call) => check(account(call)),
    deliver: async ({ subject, thread, body, private: isPrivate }, call) => {
      if (isPrivate) throw new PluginError("unsupported", "Linear has no comments that only some members of a team can read");
      return postComment(account(call), { issue: at(subject), body, key: call.key, thread });
    },
    find: async ({ subject }, call) => findComment(account(call), at(subject), call.key),
    findAll: async ({ subject }, call) => {
      const comment = await findComment(account(call), at(subject), call.key);
      return comment ? [comment] : [];
    },
    retract: async (_, { id }, call) => deleteComment(account(call), id),
    update: async ({ body }, comment, call) => updateComment(account(call), comment, { body, key: call.key }),
    react: async (target, reaction, call) => react(account(call), target, reaction),
    describe: async ({ subject }, call) => describe(account(call), at(subject)),
    standing: async (query, call) => standingOf(account(call), query),
    checkWebhook: async (wanted, call) => checkWebhook(account(call), wanted, call.connection),
    createIssue: async (issue, call) => {
      const createdIssue = await createIssue(account(call), issue, call.key);
      return { key: createdIssue.identifier, url: createdIssue.url, event: createdEvent(createdIssue) };
    },
    closeIssue: async (issue, call) => closeIssue(account(call), issue),
    poll: async (from, call) => poll(account(call), from),
  };
}
