import { issueParameters, postedComment, sanitizeText, stripMarker, tool } from "@signalbox/sdk";
import { z } from "zod";
import { placeOf, repositoryOf } from "./address.ts";
import type { ClientOf } from "./client.ts";
import { deleteComment, findComments, postComment, readComments } from "./comments.ts";
import { changeIssue, changeLabels, namesOf, readIssue, searchIssues } from "./issues.ts";
import type { Settings } from "./settings.ts";
import type { Issue } from "./shapes.ts";

const category = "issue_tracker";
const { issue, project, body, description } = issueParameters({
  issue: 'Issue or pull request number: 12, "#12" or "owner/repo#12".',
  project: 'Repository as "owner/repo".',
});
const place = (input: { issue: string | number; project?: string | undefined }) => placeOf(input.issue, input.project);

export const tools = (client: ClientOf) => ({ ...readTools(client), ...commentTools(client), ...changeTools(client) });

const issueInput = z.object({ issue, project });
const issueOutput = z.object({
  title: z.string(),
  state: z.string(),
  description: z.string(),
  url: z.string(),
  author: z.string().nullable(),
  labels: z.array(z.string()),
});
const toOutput = (found: Issue): z.output<typeof issueOutput> => ({
  title: sanitizeText(found.title),
  state: found.state,
  description: sanitizeText(found.body ?? ""),
  url: found.html_url,
  author: found.user?.login ?? null,
  labels: namesOf(found.labels),
});
const issueListOutput = z.object({
  comments: z.array(z.object({ author: z.string().nullable(), body: z.string(), created_at: z.string().nullable() })),
});
const searchInput = z.object({
  query: z.string().trim().min(1).max(500).describe("Words to search for in titles and descriptions."),
  project,
  state: z.enum(["open", "closed", "all"]).default("all").describe("Default: all."),
  limit: z.int().min(1).max(50).default(20).describe("Maximum number of issues. Default: 20."),
});
const searchOutput = z.object({
  issues: z.array(z.object({ issue: z.int(), title: z.string(), state: z.string(), url: z.string() })),
});

const readTools = (client: ClientOf) => ({
  get_issue: tool<typeof issueInput, typeof issueOutput, Settings>({
    about: "Read an issue or pull request: title, state, description and labels.",
    category,
    effect: "read",
    input: issueInput,
    output: issueOutput,
    run: async (input, call) => toOutput(await readIssue(client, place(input), call)),
  }),
  list_comments: tool<typeof issueInput, typeof issueListOutput, Settings>({
    about: "Read the last 100 comments of an issue or pull request, oldest first.",
    category,
    effect: "read",
    input: issueInput,
    output: issueListOutput,
    run: async (input, call) => {
      const all = (await readComments(client, place(input), call)).slice(-100);
      return {
        comments: all.map(({ user, body, created_at }) => ({
          author: user?.login ?? null,
          body: sanitizeText(stripMarker(body)),
          created_at: created_at ?? null,
        })),
      };
    },
  }),
  search_issues: tool<typeof searchInput, typeof searchOutput, Settings>({
    about: "Search the issues and pull requests of a repository.",
    category,
    effect: "read",
    input: searchInput,
    output: searchOutput,
    run: async ({ project, ...input }, call) => {
      repositoryOf(project ?? "");
      const all = await searchIssues(client, { ...input, project: project ?? "" }, call);
      return {
        issues: all.map((one) => ({ issue: one.number, title: sanitizeText(one.title), state: one.state, url: one.html_url })),
      };
    },
  }),
});

const commentInput = z.object({ issue, project, body });
const commentTools = (client: ClientOf) => ({
  add_comment: tool<typeof commentInput, typeof postedComment, Settings>({
    about: "Add a comment to an issue or pull request.",
    category,
    effect: "write",
    input: commentInput,
    output: postedComment,
    run: async (input, call) => postComment(client, place(input), input.body, call),
    find: async (input, call) => (await findComments(client, place(input), call))[0] ?? null,
    findAll: async (input, call) => findComments(client, place(input), call),
    retract: async (input, { id }, call) => deleteComment(client, { ...place(input), id }, call),
  }),
});

const descriptionInput = z.object({ issue, project, description });
const stateInput = z.object({ issue, project, state: z.enum(["open", "closed"]).describe("The new state.") });
const names = z.array(z.string().trim().min(1).max(100)).max(20).default([]);
const labelInput = z.object({
  issue,
  project,
  add: names.describe("Names of labels to add. They must exist."),
  remove: names.describe("Names of labels to remove."),
});
const changeOutput = z.object({ state: z.string(), labels: z.array(z.string()), url: z.string() });
const result = (one: Issue) => ({ state: one.state, labels: namesOf(one.labels), url: one.html_url });

const changeTools = (client: ClientOf) => ({
  update_description: tool<typeof descriptionInput, typeof changeOutput, Settings>({
    about:
      "Replace the description of an issue or pull request. The old text is lost: read it first and keep what is still valid.",
    category,
    effect: "write",
    idempotent: true,
    input: descriptionInput,
    output: changeOutput,
    run: async (input, call) => result(await changeIssue(client, place(input), { body: sanitizeText(input.description) }, call)),
  }),
  update_state: tool<typeof stateInput, typeof changeOutput, Settings>({
    about: "Close or reopen an issue or pull request.",
    category,
    effect: "write",
    idempotent: true,
    input: stateInput,
    output: changeOutput,
    run: async (input, call) => result(await changeIssue(client, place(input), { state: input.state }, call)),
  }),
  update_labels: tool<typeof labelInput, typeof changeOutput, Settings>({
    about: "Add labels to an issue or pull request and remove labels from it, by their names.",
    category,
    effect: "write",
    idempotent: true,
    input: labelInput,
    output: changeOutput,
    run: async (input, call) => result(await changeLabels(client, place(input), input, call)),
  }),
});
