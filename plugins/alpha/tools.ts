import { issueParameters, postedComment, sanitizeText, stripMarker, tool, truncate } from "@signalbox/sdk";
import { z } from "zod";
import { addressOf, repositoryOf } from "./address.ts";
import { standingOf } from "./author.ts";
import type { Client } from "./client.ts";
import { findComment, maxCommentLength, postComment } from "./comments.ts";
import { deleteComment, findAllComments } from "./duplicates.ts";
import { createLabel } from "./labels.ts";
import { placeOf } from "./place.ts";
import { issueUrl, readIssue } from "./read-issue.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

type ClientOf = (connection: Settings) => Client;

const category = "issue_tracker";
const { issue, project, body, description } = issueParameters({
  issue: 'Issue or pull request number: 12, "#12" or "owner/repo#12".',
  project: 'Repository as "owner/repo".',
});

export const alphaTools = (clientOf: ClientOf) => ({
  add_comment: addComment(clientOf),
  update_description: updateDescription(clientOf),
  get_issue: getIssue(clientOf),
  create_label: label(clientOf),
});

const addComment = (clientOf: ClientOf) =>
  tool<typeof addCommentInput, typeof postedComment, Settings>({
    about: "Add a comment to an issue or pull request.",
    category,
    effect: "write",
    input: addCommentInput,
    output: postedComment,
    run: (input, { connection, key, signal }) => postComment(clientOf(connection), placeFor(input), input.body, key, signal),
    find: (input, { connection, key, signal }) => findComment(clientOf(connection), placeFor(input), key, signal),
    findAll: (input, { connection, key, signal }) => findAllComments(clientOf(connection), placeFor(input), key, signal),
    retract: (input, { id }, { connection, signal }) => deleteComment(clientOf(connection), placeFor(input), id, signal),
  });
const placeFor = ({ issue, project }: { issue: string | number; project?: string | undefined }) =>
  placeOf({ issue: String(issue), project: project ?? "" });
const addCommentInput = z.object({ issue, project, body });

const updateDescription = (clientOf: ClientOf) =>
  tool<typeof descriptionInput, typeof updateOutput, Settings>({
    about:
      "Replace the description of an issue or pull request. The old text is lost: read it first and keep what is still valid.",
    category,
    effect: "write",
    idempotent: true,
    input: descriptionInput,
    output: updateOutput,
    run: async (input, { connection, signal }) => {
      const address = addressOf(input.issue, input.project);
      const body = truncate(sanitizeText(input.description), maxCommentLength);
      const route = "PATCH /repos/{owner}/{repo}/issues/{issue_number}";
      const client = clientOf(connection);
      const { data } = await client.write(route, { ...address, body }, shapes.changedIssue, signal);
      return { number: data.number ?? address.issue_number, url: issueUrl(client, address, data) };
    },
  });
const descriptionInput = z.object({ issue, project, description });
const updateOutput = z.object({ number: z.number(), url: z.string() });

const getIssue = (clientOf: ClientOf) =>
  tool<typeof issueInput, typeof issueOutput, Settings>({
    about: "Read an issue or pull request: title, state, description, labels and its last 30 comments.",
    category,
    effect: "read",
    input: issueInput,
    output: issueOutput,
    run: async (input, { connection, signal }) => {
      const client = clientOf(connection);
      const address = addressOf(input.issue, input.project);
      const { found, comments } = await readIssue(client, address, signal);
      return {
        number: found.number,
        title: sanitizeText(found.title ?? ""),
        state: found.state ?? "",
        body: sanitizeText(found.body ?? ""),
        labels: (found.labels ?? []).flatMap((entry) => (typeof entry === "string" ? entry : (entry.name ?? []))),
        user: found.user?.login ?? null,
        standing: standingOf(found.author_association),
        url: issueUrl(client, address, found),
        created_at: found.created_at ?? null,
        updated_at: found.updated_at ?? null,
        comments: comments.map((entry) => ({
          author: entry.user?.login ?? null,
          standing: standingOf(entry.author_association),
          created_at: entry.created_at ?? null,
          updated_at: entry.updated_at ?? null,
          body: sanitizeText(stripMarker(entry.body ?? "")),
        })),
      };
    },
  });
const issueInput = z.object({ issue, project });
/** From these times, the service marks the texts that were written after the event of the run. */
const times = { created_at: z.string().nullable(), updated_at: z.string().nullable() };
const standing = {
  standing: z.string().nullable().describe("The author's association with the repository, for example MEMBER."),
};
const issueOutput = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  body: z.string(),
  labels: z.array(z.string()),
  user: z.string().nullable(),
  ...standing,
  url: z.string(),
  ...times,
  comments: z
    .array(z.object({ author: z.string().nullable(), ...standing, ...times, body: z.string() }))
    .describe("The last 30, oldest first."),
});

const label = (clientOf: ClientOf) =>
  tool<typeof labelInput, typeof labelOutput, Settings>({
    about: "Create a label in a repository. An existing label of the same name is left unchanged.",
    category,
    effect: "write",
    idempotent: true,
    input: labelInput,
    output: labelOutput,
    run: async (input, { connection, signal }) => createLabel(clientOf(connection), repositoryOf(input.project), input, signal),
  });
const labelInput = z.object({
  project,
  name: z.string().min(1).max(50).describe("Name of the label."),
  color: z
    .string()
    .regex(/^#?[0-9a-fA-F]{6}$/, "must be six hexadecimal digits, for example ff0000")
    .default("ededed")
    .describe("Color as six hexadecimal digits."),
  description: z.string().max(100).optional().describe("Purpose of the label, at most 100 characters."),
});
const labelOutput = z.object({ name: z.string(), color: z.string(), description: z.string().nullable(), url: z.string() });
