import { type HttpClient, issueParameters, PluginError, postedComment, sanitizeText, tool } from "@signalbox/sdk";
import { z } from "zod";
import { keyOf } from "./address.ts";
import { bodyOf, markdownOf } from "./bodies.ts";
import { findComment, postComment, requireInternalComments } from "./comments.ts";
import type { Convert } from "./conversions.ts";
import { deleteComment, findAllComments } from "./duplicates.ts";
import { type Settings, webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";
import { findTransition, transition } from "./transitions.ts";
import { isHidden, isSecured } from "./visibility.ts";

type ClientOf = (connection: Settings) => HttpClient;

const category = "issue_tracker";
const { issue, project, body, description } = issueParameters({
  issue: 'Issue key, "PROJ-12", or its number with the project.',
  project: 'Project key, "PROJ".',
});

export const gammaTools = (clientOf: ClientOf, convert: Convert) => ({
  add_comment: addComment(clientOf, convert),
  update_description: updateDescription(clientOf, convert),
  get_issue: getIssue(clientOf, convert),
  transition_issue: transitionIssue(clientOf),
});

const addComment = (clientOf: ClientOf, convert: Convert) =>
  tool<typeof addCommentInput, typeof postedComment, Settings>({
    about: "Add a comment to an issue.",
    category,
    effect: "write",
    input: addCommentInput,
    output: postedComment,
    keeps_private: true,
    run: async (input, { connection, key, signal, private: hidden }) => {
      const account = { client: clientOf(connection), connection, convert, signal };
      const at = keyOf(input.issue, input.project);
      if (hidden) await requireInternalComments(account, at);
      return postComment(account, at, { body: input.body, private: hidden }, key);
    },
    find: (input, { connection, key, signal }) =>
      findComment({ client: clientOf(connection), connection, convert, signal }, keyOf(input.issue, input.project), key),
    findAll: (input, { connection, key, signal }) =>
      findAllComments({ client: clientOf(connection), connection, convert, signal }, keyOf(input.issue, input.project), key),
    retract: (input, { id }, { connection, signal }) =>
      deleteComment({ client: clientOf(connection), connection, convert, signal }, keyOf(input.issue, input.project), id),
  });
const addCommentInput = z.object({ issue, project, body });

const updateDescription = (clientOf: ClientOf, convert: Convert) =>
  tool<typeof descriptionInput, typeof updateOutput, Settings>({
    about: "Replace the description of an issue. The old text is lost: read it first and keep what is still valid.",
    category,
    effect: "write",
    idempotent: true,
    input: descriptionInput,
    output: updateOutput,
    run: async (input, { connection, signal }) => {
      const key = keyOf(input.issue, input.project);
      const body = { fields: { description: await bodyOf(convert, input.description, connection) } };
      await clientOf(connection).write({ route: "PUT /issue/{key}", path: { key }, body, schema: shapes.ignoredBody, signal });
      return { issue: key, url: `${webUrlOf(connection)}/browse/${key}` };
    },
  });
const descriptionInput = z.object({ issue, project, description });
const updateOutput = z.object({ issue: z.string(), url: z.string() });

const transitionIssue = (clientOf: ClientOf) =>
  tool<typeof transitionInput, typeof transitionResult, Settings>({
    about: "Move an issue to another status, by a transition of its workflow.",
    category,
    effect: "write",
    // It writes no text.
    keeps_private: true,
    input: transitionInput,
    output: transitionResult,
    run: (input, { connection, key, signal }) =>
      transition(clientOf(connection), keyOf(input.issue, input.project), input.transition, key, signal),
    find: (input, { connection, key, signal }) =>
      findTransition(clientOf(connection), keyOf(input.issue, input.project), key, signal),
  });
const transitionInput = z.object({
  issue,
  project,
  transition: z.string().min(1).describe("Id or name of the transition, or name of the status to move to."),
});
const transitionResult = z.object({ issue: z.string(), transition: z.string(), status: z.string().nullable() });

const getIssue = (clientOf: ClientOf, convert: Convert) =>
  tool<typeof issueInput, typeof issueOutput, Settings>({
    about: "Read an issue: title, state, description, labels and its last 30 comments.",
    category,
    effect: "read",
    input: issueInput,
    output: issueOutput,
    run: async (input, { connection, signal, private: hidden }) => {
      const key = keyOf(input.issue, input.project);
      const client = clientOf(connection);
      const isPublic = hidden === false;
      const fields = "summary,description,status,issuetype,priority,labels,assignee,reporter,created,updated,security";
      const request = { route: "GET /issue/{key}", path: { key }, query: { fields }, schema: shapes.issue, signal };
      const { data } = await client.read(request);
      if (isPublic && isSecured(data.fields))
        throw new PluginError("unsupported", "the issue has a security level, but everyone can read what this run writes");
      const query = { startAt: 0, maxResults: 30, orderBy: "-created", expand: "properties" };
      const listed = { route: "GET /issue/{key}/comment", path: { key }, query, schema: shapes.shownComments, signal };
      const readable = (await client.read(listed)).data.comments.filter((one) => one !== null);
      const comments = readable.filter((one) => !(isPublic && isHidden(one)));
      const found = data.fields;
      return {
        issue: data.key,
        title: sanitizeText(found.summary ?? ""),
        state: found.status?.name ?? "",
        type: found.issuetype?.name ?? null,
        priority: found.priority?.name ?? null,
        description: await markdownOf(convert, found.description),
        labels: found.labels ?? [],
        assignee: found.assignee?.displayName ?? null,
        author: found.reporter?.displayName ?? null,
        url: `${webUrlOf(connection)}/browse/${data.key}`,
        created_at: found.created ?? null,
        updated_at: found.updated ?? null,
        comments: await Promise.all(
          comments.reverse().map(async (one) => ({
            author: one.author?.displayName ?? null,
            created_at: one.created ?? null,
            updated_at: one.updated ?? null,
            body: await markdownOf(convert, one.body),
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
  title: z.string(),
  state: z.string(),
  type: z.string().nullable(),
  priority: z.string().nullable(),
  description: z.string(),
  labels: z.array(z.string()),
  assignee: z.string().nullable(),
  author: z.string().nullable(),
  url: z.string(),
  ...times,
  comments: z
    .array(z.object({ author: z.string().nullable(), ...times, body: z.string() }))
    .describe("The last 30, oldest first."),
});
