import type { NewTool } from "./queries.ts";

const text = (description: string, required = false) => ({ type: "string" as const, required, description });
const issue = text("Number or key of the issue or pull request.", true);
const project = text("The project as its tracker names it. Default: the project of the event.");

const addComment = (provider: string) =>
  tool(provider, "add_comment", "Add a comment to an issue or pull request.", {
    issue,
    project,
    body: text("The comment, Markdown.", true),
  });
const updateDescription = (provider: string) =>
  tool(
    provider,
    "update_description",
    "Replace the description of an issue or pull request. The old text is lost: read it first and keep what is still valid.",
    {
      issue,
      project,
      description: text("The whole new description, Markdown.", true),
    },
  );
const getIssue = (provider: string) =>
  tool(provider, "get_issue", "Read an issue or pull request with its latest comments.", { issue, project });

function tool(provider: string, name: string, description: string, parameters: NonNullable<NewTool["parameters"]>): NewTool {
  return { provider, name, description, category: "issue_tracker", parameters, endpoint: null };
}

/** The fourteen default tools. */
export const defaultTools: readonly NewTool[] = [
  ...["alpha", "beta", "gamma", "delta"].flatMap((provider) => [
    addComment(provider),
    updateDescription(provider),
    getIssue(provider),
  ]),
  tool("alpha", "create_label", "Create a label in a repository. A label of that name that exists is left as it is.", {
    name: text("Name of the label.", true),
    color: text("Six hexadecimal digits."),
    description: text("What it is for, at most 100 characters."),
    project,
  }),
  tool("gamma", "transition_issue", "Move an issue to another state of its workflow.", {
    issue,
    project,
    transition: text("Name or id of the transition.", true),
  }),
];
