import { PluginError, type Source } from "@signalbox/sdk";
import { accountOf, check } from "./account.ts";
import type { Client } from "./client.ts";
import { findComment, postComment, updateComment } from "./comments.ts";
import { closeIssue, createIssue } from "./create-issue.ts";
import { describe } from "./describe.ts";
import { deleteComment, findAllComments } from "./duplicates.ts";
import { parse } from "./parse.ts";
import { placeOf } from "./place.ts";
import { poll } from "./poll.ts";
import { react } from "./react.ts";
import { type Settings, settings } from "./settings.ts";
import { standingOf } from "./standing.ts";
import { verify } from "./verify.ts";
import { checkWebhook } from "./webhook.ts";

export function alphaSource(clientOf: (connection: Settings) => Client): Source<typeof settings> {
  return {
    about: "GitHub REST API, version 2022-11-28; also GitHub Enterprise Server 3.9 and later.",
    connection: settings,
    maxCommentLength: 65_536,
    secrets: ["token", "webhook_secret"],
    required: ["token"],
    verify,
    parse,
    account: ({ connection, signal }) => accountOf(clientOf(connection), signal),
    check: (call) => check(clientOf(call.connection), call),
    deliver: async (post, { connection, key, signal }) => {
      if (post.private) throw new PluginError("unsupported", "GitHub has no comments that only members can read");
      return postComment(clientOf(connection), placeOf(post.subject, post.thread), post.body, key, signal);
    },
    find: async ({ subject, thread }, { connection, key, signal }) =>
      findComment(clientOf(connection), placeOf(subject, thread), key, signal),
    findAll: async ({ subject, thread }, { connection, key, signal }) =>
      findAllComments(clientOf(connection), placeOf(subject, thread), key, signal),
    retract: async ({ subject, thread }, { id }, { connection, signal }) =>
      deleteComment(clientOf(connection), placeOf(subject, thread), id, signal),
    checkWebhook: async (wanted, { connection, signal }) => checkWebhook(clientOf(connection), wanted, connection, signal),
    standing: (query, { connection, signal }) => standingOf(clientOf(connection), query, signal),
    react: async (target, reaction, { connection, signal }) => react(clientOf(connection), target, reaction, signal),
    update: async ({ subject, thread, body }, comment, { connection, key, signal }) =>
      updateComment(clientOf(connection), placeOf(subject, thread), comment, { body, key }, signal),
    describe: async ({ subject }, { connection, signal }) => describe(clientOf(connection), subject, signal),
    createIssue: (issue, { connection, signal }) => createIssue(clientOf(connection), issue, signal),
    closeIssue: (issue, { connection, signal }) => closeIssue(clientOf(connection), issue, signal),
    poll: (from, { connection, signal }) => poll(clientOf(connection), from, signal),
  };
}
