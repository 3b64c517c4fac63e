import type { CallContext, HttpClient, Source } from "@signalbox/sdk";
import { accountOf, check } from "./account.ts";
import { keyOf } from "./address.ts";
import { findComment, postComment, updateComment } from "./comments.ts";
import type { Convert } from "./conversions.ts";
import { closeIssue, createIssue } from "./create-issue.ts";
import { describe } from "./describe.ts";
import { deleteComment, findAllComments } from "./duplicates.ts";
import { parse } from "./parse.ts";
import { poll } from "./poll.ts";
import { type Settings, settings } from "./settings.ts";
import { verify } from "./verify.ts";
import { checkWebhook } from "./webhook.ts";

type ClientOf = (connection: Settings) => HttpClient;

export function gammaSource(clientOf: ClientOf, restOf: ClientOf, convert: Convert): Source<typeof settings> {
  const account = ({ connection, signal }: CallContext<Settings>) => ({
    client: clientOf(connection),
    connection,
    convert,
    signal,
  });
  return {
    about: "Jira REST API: version 3 for Cloud, version 2 for Server and Data Center.",
    connection: settings,
    maxCommentLength: 32_000,
    secrets: ["api_token", "webhook_secret"],
    required: ["url", "api_token"],
    verify,
    parse: (request) => parse(convert, request),
    account: ({ connection, signal }) => accountOf(clientOf(connection), signal),
    check: (call) => check(clientOf, call),
    deliver: (post, call) => postComment(account(call), keyOf(post.subject.issue, post.subject.project), post, call.key),
    find: ({ subject }, call) => findComment(account(call), keyOf(subject.issue, subject.project), call.key),
    findAll: ({ subject }, call) => findAllComments(account(call), keyOf(subject.issue, subject.project), call.key),
    retract: ({ subject }, { id }, call) => deleteComment(account(call), keyOf(subject.issue, subject.project), id),
    update: ({ subject, ...post }, comment, call) =>
      updateComment(account(call), keyOf(subject.issue, subject.project), comment, { ...post, key: call.key }),
    describe: ({ subject }, { connection, signal }) =>
      describe(clientOf(connection), connection, keyOf(subject.issue, subject.project), signal),
    checkWebhook: (wanted, { connection, signal }) => checkWebhook(restOf(connection), wanted, connection, signal),
    createIssue: async (issue, call) => createIssue(account(call), issue),
    closeIssue: async (issue, call) => closeIssue(account(call), issue),
    poll: async (from, { connection, signal }) => poll(clientOf(connection), from, signal),
  };
}
