import type { CallContext, Source } from "@signalbox/sdk";
import { accountOf, check } from "./account.ts";
import { addressOfSubject } from "./address.ts";
import type { Account, Client } from "./client.ts";
import { findComment, postComment, updateComment } from "./comments.ts";
import type { Convert } from "./conversions.ts";
import { closeIssue, createIssue } from "./create-issue.ts";
import { describe } from "./describe.ts";
import { deleteComment, findAllComments } from "./duplicates.ts";
import { standingOf } from "./members.ts";
import { parse } from "./parse.ts";
import { poll } from "./poll.ts";
import { projectId } from "./projects.ts";
import { type Settings, settings } from "./settings.ts";
import { verify } from "./verify.ts";
import { checkWebhook } from "./webhook.ts";

type ClientOf = (connection: Settings) => Client;

export function deltaSource(clientOf: ClientOf, secondOf: ClientOf, convert: Convert): Source<typeof settings> {
  const account = ({ connection, signal }: CallContext<Settings>): Account => ({
    client: clientOf(connection),
    connection,
    convert,
    signal,
  });
  return {
    about: "Plane REST API, version 1: plane.so and self-hosted servers.",
    connection: settings,
    maxCommentLength: 100_000,
    secrets: ["api_key", "webhook_secret"],
    required: ["api_key", "workspace_slug"],
    verify,
    parse: (request) => parse(convert, request),
    account: ({ connection, signal }) => accountOf(clientOf(connection), signal),
    check: (call) => check(clientOf, call),
    deliver: async (post, call) => postComment(account(call), addressOfSubject(post.subject), post, call.key),
    find: async ({ subject }, call) => findComment(account(call), addressOfSubject(subject), call.key),
    findAll: async ({ subject }, call) => findAllComments(account(call), addressOfSubject(subject), call.key),
    retract: async ({ subject }, { id }, call) => deleteComment(account(call), addressOfSubject(subject), id),
    update: async ({ subject, body }, comment, call) =>
      updateComment(account(call), addressOfSubject(subject), comment, { body, key: call.key }),
    describe: async ({ subject, text }, call) => describe(account(call), addressOfSubject(subject), text),
    standing: async ({ author }, { connection, signal }) => standingOf(clientOf(connection), author.id, signal),
    checkWebhook: (wanted, { connection, signal }) => checkWebhook(secondOf(connection), wanted, connection, signal),
    createIssue: async (issue, call) => createIssue(account(call), issue),
    closeIssue: async (issue, call) => closeIssue(account(call), issue),
    projectId: async (name, { connection, signal }) => projectId(clientOf(connection), name, signal),
    poll: async (from, { connection, signal }) => poll(clientOf(connection), from, signal),
  };
}
