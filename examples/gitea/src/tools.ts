import { issueParameters, PluginError, postedComment, tool } from "@signalbox/sdk";
import { z } from "zod";
import { type ClientOf, findComment, placeOf, postComment, readIssue } from "./api.ts";
import type { Settings } from "./settings.ts";

const { issue, project, body } = issueParameters({
  issue: 'Number of the issue or pull request: 12, "#12" or "owner/repo#12".',
  project: 'Repository as "owner/repo".',
});
const place = (given: { issue: string | number; project?: string | undefined }) => {
  const [, named, number] = /^(?:([^#]+)#|#)?(\d+)$/.exec(String(given.issue).trim()) ?? [];
  const project = named ?? given.project;
  if (!number || !project)
    throw new PluginError(
      "invalid_input",
      `issue: must be a number with a project, or owner/repo#12; it is ${JSON.stringify(given.issue)}`,
    );
  return placeOf(project, number);
};

const commentInput = z.object({ issue, project, body });
export const addComment = (client: ClientOf) =>
  tool<typeof commentInput, typeof postedComment, Settings>({
    about: "Add a comment to an issue or pull request.",
    category: "issue_tracker",
    effect: "write",
    input: commentInput,
    output: postedComment,
    run: (given, call) => postComment(client, place(given), given.body, call),
    find: (given, call) => findComment(client, place(given), call),
  });

const issueInput = z.object({ issue, project });
const issueOutput = z.object({
  ...{ title: z.string(), state: z.string(), description: z.string(), url: z.string() },
  author: z.string().nullable(),
  labels: z.array(z.string()),
});
export const getIssue = (client: ClientOf) =>
  tool<typeof issueInput, typeof issueOutput, Settings>({
    about: "Read an issue or pull request: title, state, description and labels.",
    category: "issue_tracker",
    effect: "read",
    input: issueInput,
    output: issueOutput,
    run: async (given, call) => {
      const found = await readIssue(client, place(given), call);
      return {
        ...{ title: found.title, state: found.state, description: found.body ?? "", url: found.html_url },
        author: found.user?.login ?? null,
        labels: (found.labels ?? []).map(({ name }) => name),
      };
    },
  });
