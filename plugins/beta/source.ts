import type { CallContext, HttpClient, Source } from "@signalbox/sdk";
import { accountOf, check } from "./account.ts";
import { deleteComment, findAllComments, findComment, postComment, updateComment } from "./comments.ts";
import { closeIssue, createIssue } from "./create-issue.ts";
import { describe } from "./describe.ts";
import { parse } from "./parse.ts";
import { placeOf } from "./place.ts";
import { poll } from "./poll.ts";
import { react } from "./react.ts";
import { type Settings, settings } from "./settings.ts";
import { standingOf } from "./standing.ts";
import { verify } from "./verify.ts";
import { refusePublicPlace } from "./visibility.ts";
import { checkWebhook } from "./webhook.ts";

export function betaSource(clientOf: (connection: Settings) => HttpClient): Source<typeof settings> {
  const account = ({ connection, signal }: CallContext<Settings>) => ({ client: clientOf(connection), connection, signal });
  return {
    about: "GitLab REST API, version 4: gitlab.com and self-hosted servers 15.0 and later.",
    connection: settings,
    maxCommentLength: 1_000_000,
    secrets: ["token", "webhook_secret"],
    required: ["token"],
    verify,
    parse,
    account: ({ connection, signal }) => accountOf(clientOf(connection), signal),
    check: (call) => check(clientOf(call.connection), call),
    deliver: async ({ subject, thread, body, private: isPrivate }, call) => {
      const place = placeOf(subject, thread);
      if (isPrivate) refusePublicPlace(place);
      return postComment(account(call), place, { body, key: call.key, private: isPrivate });
    },
    find: async ({ subject, thread, private: isPrivate }, call) =>
      findComment(account(call), placeOf(subject, thread), { key: call.key, private: isPrivate }),
    findAll: async ({ subject, thread }, call) => findAllComments(account(call), placeOf(subject, thread), call.key),
    retract: async ({ subject, thread }, { id }, call) => deleteComment(account(call), placeOf(subject, thread), id),
    react: async (target, reaction, call) => react(account(call), target, reaction),
    update: async ({ subject, thread, body }, comment, call) =>
      updateComment(account(call), placeOf(subject, thread), comment, { body, key: call.key }),
    describe: async ({ subject }, { connection, signal }) => describe(clientOf(connection), placeOf(subject), signal),
    checkWebhook: async (wanted, { connection, signal }) => checkWebhook(clientOf(connection), wanted, connection, signal),
    standing: (query, { connection, signal }) => standingOf(clientOf(connection), query, signal),
    createIssue: async (issue, { connection, signal }) => createIssue(clientOf(connection), issue, signal),
    closeIssue: async (issue, { connection, signal }) => closeIssue(clientOf(connection), issue, signal),
    poll: async (from, { connection, signal }) => poll(clientOf(connection), from, signal),
  };
}
