import { issueParameters, postedComment, sanitizeText, tool } from "@signalbox/sdk";
import { z } from "zod";
import { addressOf } from "./address.ts";
import { htmlOf, markdownOf } from "./bodies.ts";
import type { Account, Client } from "./client.ts";
import { findComment, postComment } from "./comments.ts";
import type { Convert } from "./conversions.ts";
import { deleteComment, findAllComments } from "./duplicates.ts";
import { mayBePublished, projectOf, requireUnpublished } from "./projects.ts";
import { readIssue } from "./read-issue.ts";
import { type Settings, webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

type ClientOf = (connection: Settings) => Client;

const category = "issue_tracker";
const { issue, project, body, description } = issueParameters({
  issue: "Issue id, a UUID.",
  project: "Project id, a UUID.",
});

type AccountFor = (call: { readonly connection: Settings; readonly signal: AbortSignal }) => Account;

export function deltaTools(clientOf: ClientOf, convert: Convert) {
  const accountFor: AccountFor = ({ connection, signal }) => ({ client: clientOf(connection), connection, convert, signal });
  return {
    add_comment: addComment(accountFor),
    update_description: updateDescription(accountFor),
    get_issue: getIssue(accountFor),
  };
}

const addComment = (accountFor: AccountFor) =>
  tool<typeof addCommentInput, typeof postedComment, Settings>({
    about: "Add a comment to an issue.",
    category,
    effect: "write",
    input: addCommentInput,
    output: postedComment,
    keeps_private: true,
    run: async (input, call) =>
      postComment(accountFor(call), addressOf(input.issue, input.project), { body: input.body, private: call.private }, call.key),
    find: async (input, call) => findComment(accountFor(call), addressOf(input.issue, input.project), call.key),
    findAll: async (input, call) => findAllComments(accountFor(call), addressOf(input.issue, input.project), call.key),
    retract: async (input, { id }, call) => deleteComment(accountFor(call), addressOf(input.issue, input.project), id),
  });
const addCommentInput = z.object({ issue, project, body });

const updateDescription = (accountFor: AccountFor) =>
  tool<typeof descriptionInput, typeof updateOutput, Settings>({
    about: "Replace the description of an issue. The old text is lost: read it first and keep what is still valid.",
    category,
    effect: "write",
    idempotent: true,
    input: descriptionInput,
    output: updateOutput,
    keeps_private: true,
    run: async (input, call) => {
      const account = accountFor(call);
      const address = addressOf(input.issue, input.project);
      const path = { slug: account.client.slug, project: await projectOf(account, address), issue: address.issue };
      if (call.private) await requireUnpublished(account, path.project);
      const body = { description_html: (await htmlOf(account.convert, input.description)) || "<p></p>" };
      const route = "PATCH /workspaces/{slug}/projects/{project}/issues/{issue}/";
      await account.client.write({ route, path, body, schema: shapes.anyObject, signal: call.signal });
      return { issue: address.issue, url: urlOf(account, path) };
    },
  });
const descriptionInput = z.object({ issue, project, description });
const updateOutput = z.object({ issue: z.string(), url: z.string() });

const getIssue = (accountFor: AccountFor) =>
  tool<typeof issueInput, typeof issueOutput, Settings>({
    about: "Read an issue: title, state, description, labels and its last 30 comments.",
    category,
    effect: "read",
    input: issueInput,
    output: issueOutput,
    run: async (input, call) => {
      const account = accountFor(call);
      const address = addressOf(input.issue, input.project);
      const at = { project: await projectOf(account, address), issue: address.issue };
      const { found, state, comments: all } = await readIssue(account, at);
      // Visitors of a public board cannot read internal comments, but they can read what this run writes.
      const internal = (one: (typeof all)[number]) => one.access === "INTERNAL";
      const leaveOut = call.private === false && all.some(internal) && (await mayBePublished(account, at.project));
      const comments = leaveOut ? all.filter((one) => !internal(one)) : all;
      return {
        issue: found.id,
        number: found.sequence_id ?? null,
        title: sanitizeText(found.name),
        state,
        priority: found.priority ?? null,
        description: await markdownOf(account.convert, found.description_html ?? ""),
        url: urlOf(account, at),
        created_at: found.created_at ?? null,
        updated_at: found.updated_at ?? null,
        comments: await Promise.all(
          comments.map(async (one) => ({
            author: one.actor ?? null,
            created_at: one.created_at ?? null,
            updated_at: one.edited_at ?? one.updated_at ?? null,
            body: await markdownOf(account.convert, one.comment_html ?? ""),
          })),
        ),
      };
    },
  });
const issueInput = z.object({ issue, project });
/** From these times, the service marks the texts that were written after the event of the run. */
const times = { created_at: z.string().nullable(), updated_at: z.string().nullable() };
const issueOutput = z.object({
  issue: z.string(),
  number: z.number().nullable(),
  title: z.string(),
  state: z.string().nullable(),
  priority: z.string().nullable(),
  description: z.string(),
  url: z.string(),
  ...times,
  comments: z
    .array(z.object({ author: z.string().nullable(), ...times, body: z.string() }))
    .describe("The last 30, oldest first."),
});

const urlOf = ({ client, connection }: Account, { project, issue }: { project: string; issue: string }): string =>
  `${webUrlOf(connection)}/${client.slug}/projects/${project}/issues/${issue}`;
