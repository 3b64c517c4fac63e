import { issueParameters, postedComment, sanitizeText, tool } from "@signalbox/sdk";
import { z } from "zod";
import { addressOf } from "./address.ts";
import type { Client } from "./client.ts";
import { type Account, findComment, postComment } from "./comments.ts";
import { htmlToMarkdown, markdownToHtml } from "./html.ts";
import { projectOf } from "./projects.ts";
import { readIssue } from "./read-issue.ts";
import { type Settings, webOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

type ClientOf = (connection: Settings) => Client;

const category = "issue_tracker";
const { issue, project, body, description } = issueParameters({
  issue: "Id of the issue, a UUID.",
  project: "Id of the project, a UUID.",
});

export const deltaTools = (clientOf: ClientOf) => ({
  add_comment: addComment(clientOf),
  update_description: updateDescription(clientOf),
  get_issue: getIssue(clientOf),
});

const accountFor = (clientOf: ClientOf, { connection, signal }: { connection: Settings; signal: AbortSignal }): Account => ({
  client: clientOf(connection),
  connection,
  signal,
});

const addComment = (clientOf: ClientOf) =>
  tool<typeof addCommentInput, typeof postedComment, Settings>({
    about: "Add a comment to an issue.",
    category,
    effect: "write",
    input: addCommentInput,
    output: postedComment,
    run: async (input, call) =>
      postComment(accountFor(clientOf, call), addressOf(input.issue, input.project), input.body, call.key),
    find: async (input, call) => findComment(accountFor(clientOf, call), addressOf(input.issue, input.project), call.key),
  });
const addCommentInput = z.object({ issue, project, body });

const updateDescription = (clientOf: ClientOf) =>
  tool<typeof descriptionInput, typeof described, Settings>({
    about: "Replace the description of an issue. The old text is lost: read it first and keep what is still valid.",
    category,
    effect: "write",
    idempotent: true,
    input: descriptionInput,
    output: described,
    run: async (input, call) => {
      const account = accountFor(clientOf, call);
      const address = addressOf(input.issue, input.project);
      const path = { slug: account.client.slug, project: await projectOf(account, address), issue: address.issue };
      const body = { description_html: markdownToHtml(input.description) || "<p></p>" };
      const route = "PATCH /workspaces/{slug}/projects/{project}/issues/{issue}/";
      await account.client.write({ route, path, body, schema: shapes.issue, signal: call.signal });
      return { issue: address.issue, url: urlOf(account, path) };
    },
  });
const descriptionInput = z.object({ issue, project, description });
const described = z.object({ issue: z.string(), url: z.string() });

const getIssue = (clientOf: ClientOf) =>
  tool<typeof issueInput, typeof issueOutput, Settings>({
    about: "Read an issue: title, state, description, labels and its last 30 comments.",
    category,
    effect: "read",
    input: issueInput,
    output: issueOutput,
    run: async (input, call) => {
      const account = accountFor(clientOf, call);
      const address = addressOf(input.issue, input.project);
      const at = { project: await projectOf(account, address), issue: address.issue };
      const { found, state, comments } = await readIssue(account, at);
      return {
        issue: found.id,
        number: found.sequence_id ?? null,
        title: sanitizeText(found.name),
        state,
        priority: found.priority ?? null,
        description: htmlToMarkdown(found.description_html ?? ""),
        url: urlOf(account, at),
        comments: comments.map((one) => ({ author: one.actor ?? null, body: htmlToMarkdown(one.comment_html ?? "") })),
      };
    },
  });
const issueInput = z.object({ issue, project });
const issueOutput = z.object({
  issue: z.string(),
  number: z.number().nullable(),
  title: z.string(),
  state: z.string().nullable(),
  priority: z.string().nullable(),
  description: z.string(),
  url: z.string(),
  comments: z.array(z.object({ author: z.string().nullable(), body: z.string() })).describe("The last 30, oldest first."),
});

const urlOf = ({ client, connection }: Account, { project, issue }: { project: string; issue: string }): string =>
  `${webOf(connection)}/${client.slug}/projects/${project}/issues/${issue}`;
