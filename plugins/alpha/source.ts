import type { OwnEdits, Source } from "@signalbox/sdk";
import { accountOf, check } from "./account.ts";
import { addressOfSubject } from "./address.ts";
import type { Client } from "./client.ts";
import { findComment, postComment, updateComment } from "./comments.ts";
import { closeIssue, createIssue } from "./create-issue.ts";
import { deleteComment, findAllComments } from "./duplicates.ts";
import { parse } from "./parse.ts";
import { poll } from "./poll.ts";
import { react } from "./react.ts";
import { type Settings, settings } from "./settings.ts";
import { verify } from "./verify.ts";

export function alphaSource(clientOf: (connection: Settings) => Client, edits: OwnEdits): Source<typeof settings> {
  return {
    about: "GitHub REST API, version 2022-11-28; also GitHub Enterprise Server 3.9 and later.",
    connection: settings,
    secrets: ["token", "webhook_secret"],
    required: ["token"],
    verify,
    parse,
    account: ({ connection, signal }) => accountOf(clientOf(connection), signal),
    check: (call) => check(clientOf(call.connection), call),
    deliver: ({ subject, body }, { connection, key, signal }) =>
      postComment(clientOf(connection), addressOfSubject(subject), body, key, signal),
    find: ({ subject }, { connection, key, signal }) => findComment(clientOf(connection), addressOfSubject(subject), key, signal),
    findAll: ({ subject }, { connection, key, signal }) =>
      findAllComments(clientOf(connection), addressOfSubject(subject), key, signal),
    retract: ({ subject }, { id }, { connection, signal }) =>
      deleteComment(clientOf(connection), addressOfSubject(subject), id, signal),
    react: (target, reaction, { connection, signal }) => react(clientOf(connection), target, reaction, signal),
    update: ({ subject, body }, comment, { connection, key, signal }) =>
      updateComment(clientOf(connection), addressOfSubject(subject), comment, { body, key }, signal),
    createIssue: (issue, { connection, signal }) => createIssue(clientOf(connection), issue, signal),
    closeIssue: (issue, { connection, signal }) => closeIssue(clientOf(connection), issue, signal),
    poll: (from, { connection, signal }) => poll(clientOf(connection), edits, from, signal),
  };
}
