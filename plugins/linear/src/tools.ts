import { type CallContext, issueParameters, postedComment, sanitizeText, stripInvisibleMarker, tool } from "@signalbox/sdk";
import { z } from "zod";
import { issueOf, teamOf } from "./address.ts";
import type { ClientOf } from "./client.ts";
import { type Account, findComment, lastComments, postComment } from "./comments.ts";
import { createIssue, findIssue, labelIds, moveIssue, readIssue, searchIssues, stateNamed, updateIssue } from "./issues.ts";
import type { Settings } from "./settings.ts";
import type * as shapes from "./shapes.ts";

const category = "issue_tracker";
const { issue, project, body, description } = issueParameters({
  issue: 'Issue identifier: "ENG-42", or 42 with a project.',
  project: 'Key of the team, for example "ENG".',
});
const title = z.string().trim().min(1).max(255).describe("Title, one line.");
const name = z.string().trim().min(1).max(100);

const issueInput = z.object({ issue, project });
const issueOutput = z.object({
  issue: z.string(),
  title: z.string(),
  state: z.string(),
  description: z.string(),
  url: z.string(),
  author: z.string().nullable(),
  assignee: z.string().nullable(),
  labels: z.array(z.string()),
});
const toOutput = (found: shapes.Issue): z.output<typeof issueOutput> => ({
  issue: found.identifier,
  title: sanitizeText(found.title),
  state: found.state.name,
  url: found.url,
  description: sanitizeText(found.description ?? ""),
  author: found.creator?.displayName ?? found.creator?.name ?? null,
  assignee: found.assignee?.displayName ?? found.assignee?.name ?? null,
  labels: found.labels.nodes.map((label) => label.name),
});
const changedIssue = z.object({ issue: z.string(), state: z.string(), labels: z.array(z.string()), url: z.string() });
const toChangedIssue = (found: shapes.Issue): z.output<typeof changedIssue> => ({
  issue: found.identifier,
  state: found.state.name,
  url: found.url,
  labels: found.labels.nodes.map((label) => label.name),
});
const issueLink = z.object({ issue: z.string(), url: z.string() });
const comments = z.object({
  comments: z.array(z.object({ author: z.string().nullable(), body: z.string(), created_at: z.string() })),
});
const searchOutput = z.object({
  issues: z.array(z.object({ issue: z.string(), title: z.string(), state: z.string(), url: z.string() })),
});

type AccountOf = (call: CallContext<Settings>) => Account;

export function tools(clientOf: ClientOf) {
  const on: AccountOf = ({ connection, signal }) => ({ client: clientOf(connection), signal });
  return { ...readTools(on), ...commentTools(on), ...createTools(on), ...changeTools(on) };
}

const readTools = (accountOf: AccountOf) => ({
  get_issue: tool<typeof issueInput, typeof issueOutput, Settings>({
    about: "Read an issue: title, state, description, labels, author and assignee.",
    category,
    effect: "read",
    input: issueInput,
    output: issueOutput,
    run: async (input, call) => toOutput(await readIssue(accountOf(call), issueOf(input.issue, input.project))),
  }),
  list_comments: tool<typeof issueInput, typeof comments, Settings>({
    about: "Read the last 100 comments of an issue, oldest first.",
    category,
    effect: "read",
    input: issueInput,
    output: comments,
    run: async (input, call) => {
      const all = await lastComments(accountOf(call), issueOf(input.issue, input.project));
      return {
        comments: all.map(({ user, body, createdAt }) => ({
          author: user?.displayName ?? user?.name ?? null,
          body: sanitizeText(stripInvisibleMarker(body)),
          created_at: createdAt,
        })),
      };
    },
  }),
  search_issues: tool<typeof searchInput, typeof searchOutput, Settings>({
    about: "Search the issues of a team by words in their title, description and comments.",
    category,
    effect: "read",
    input: searchInput,
    output: searchOutput,
    run: async (input, call) => {
      const query = { term: input.query, team: teamOf(input.project), limit: input.limit };
      const all = await searchIssues(accountOf(call), query);
      return { issues: all.map(toOutput).map(({ issue, title, state, url }) => ({ issue, title, state, url })) };
    },
  }),
});
const searchInput = z.object({
  query: z.string().trim().min(1).max(500).describe("Words to search for."),
  project,
  limit: z.int().min(1).max(50).default(20).describe("Maximum number of issues. Default: 20."),
});

const commentTools = (accountOf: AccountOf) => ({
  add_comment: tool<typeof commentInput, typeof postedComment, Settings>({
    about: "Add a comment to an issue.",
    category,
    effect: "write",
    input: commentInput,
    output: postedComment,
    run: async (input, call) =>
      postComment(accountOf(call), { issue: issueOf(input.issue, input.project), body: input.body, key: call.key }),
    find: async (input, call) => findComment(accountOf(call), issueOf(input.issue, input.project), call.key),
  }),
});
const commentInput = z.object({ issue, project, body });

const createTools = (accountOf: AccountOf) => ({
  create_issue: tool<typeof newIssue, typeof issueLink, Settings>({
    about: "Create an issue in a team.",
    category,
    effect: "write",
    input: newIssue,
    output: issueLink,
    run: async (input, call) => {
      const issue = { project: teamOf(input.project), title: input.title, body: input.description };
      const { identifier, url } = await createIssue(accountOf(call), issue, call.key);
      return { issue: identifier, url };
    },
    find: async (_, call) => {
      const existing = await findIssue(accountOf(call), call.key);
      return existing && { issue: existing.identifier, url: existing.url };
    },
  }),
});
const newIssue = z.object({ project, title, description: z.string().default("").describe("Description, in Markdown.") });

const changeTools = (accountOf: AccountOf) => ({
  update_description: tool<typeof descriptionInput, typeof issueLink, Settings>({
    about: "Replace the description of an issue. The old text is lost: read it first and keep what is still valid.",
    category,
    effect: "write",
    idempotent: true,
    input: descriptionInput,
    output: issueLink,
    run: async (parameters, call) => {
      const input = { description: sanitizeText(parameters.description) };
      const { identifier, url } = await updateIssue(accountOf(call), issueOf(parameters.issue, parameters.project), input);
      return { issue: identifier, url };
    },
  }),
  update_state: tool<typeof stateInput, typeof changedIssue, Settings>({
    about: "Move an issue to another state of its team, for example to In Progress.",
    category,
    effect: "write",
    idempotent: true,
    input: stateInput,
    output: changedIssue,
    run: async (input, call) =>
      toChangedIssue(await moveIssue(accountOf(call), issueOf(input.issue, input.project), stateNamed(input.state))),
  }),
  update_labels: tool<typeof labelInput, typeof changedIssue, Settings>({
    about: "Add labels to an issue and remove labels from it, by their names.",
    category,
    effect: "write",
    idempotent: true,
    input: labelInput,
    output: changedIssue,
    run: async (input, call) => {
      const id = issueOf(input.issue, input.project);
      const ids = (names: readonly string[]) => labelIds(accountOf(call), id.split("-")[0] as string, names);
      const [addedLabelIds, removedLabelIds] = [await ids(input.add), await ids(input.remove)];
      return toChangedIssue(await updateIssue(accountOf(call), id, { addedLabelIds, removedLabelIds }));
    },
  }),
});
const descriptionInput = z.object({ issue, project, description });
const stateInput = z.object({ issue, project, state: name.describe("Name of the state, for example In Progress.") });
const labelInput = z.object({
  issue,
  project,
  add: z.array(name).max(20).default([]).describe("Names of labels to add."),
  remove: z.array(name).max(20).default([]).describe("Names of labels to remove."),
});
