import type { CallContext, HttpClient, OwnEdits, Source } from "@signalbox/sdk";
import { accountOf, check } from "./account.ts";
import { addressOfSubject } from "./address.ts";
import { findComment, postComment, updateComment } from "./comments.ts";
import { closeIssue, createIssue } from "./create-issue.ts";
import { deleteComment, findAllComments } from "./duplicates.ts";
import { parse } from "./parse.ts";
import { poll } from "./poll.ts";
import { react } from "./react.ts";
import { type Settings, settings } from "./settings.ts";
import { verify } from "./verify.ts";

export function betaSource(clientOf: (connection: Settings) => HttpClient, edits: OwnEdits): Source<typeof settings> {
  const account = ({ connection, signal }: CallContext<Settings>) => ({ client: clientOf(connection), connection, signal });
  return {
    about: "GitLab REST API, version 4: gitlab.com and self-hosted servers 15.0 and later.",
    connection: settings,
    secrets: ["token", "webhook_secret"],
    required: ["token"],
    verify,
    parse,
    account: ({ connection, signal }) => accountOf(clientOf(connection), signal),
    check: (call) => check(clientOf(call.connection), call),
    deliver: ({ subject, body }, call) => postComment(account(call), addressOfSubject(subject), body, call.key),
    find: ({ subject }, call) => findComment(account(call), addressOfSubject(subject), call.key),
    findAll: ({ subject }, call) => findAllComments(account(call), addressOfSubject(subject), call.key),
    retract: ({ subject }, { id }, call) => deleteComment(account(call), addressOfSubject(subject), id),
    react: (target, reaction, call) => react(account(call), target, reaction),
    update: ({ subject, body }, comment, call) =>
      updateComment(account(call), addressOfSubject(subject), comment, { body, key: call.key }),
    createIssue: async (issue, { connection, signal }) => createIssue(clientOf(connection), issue, signal),
    closeIssue: async (issue, { connection, signal }) => closeIssue(clientOf(connection), issue, signal),
    poll: async (from, { connection, signal }) => poll(clientOf(connection), edits, from, signal),
  };
}
