/** Paths in payloads of the project's names. */
const projects = [
  ...["project.id", "project.path_with_namespace", "repository.id", "repository.full_name"],
  ...["issue.fields.project.id", "issue.fields.project.key"],
  ...["data.project", "data.project_id", "data.project_detail.id", "data.project_detail.identifier"],
].map(pathOf);

/** Paths in payloads of the participants of an issue: its author, assignees and commenter. */
const people = [
  ...["issue.user.login", "pull_request.user.login", "comment.user.login", "review.user.login", "sender.login", "user.username"],
  ...["issue.assignee.login", "assignees.0.username", "assignees.1.username", "assignees.2.username"],
  ...["issue.assignees.0.login", "issue.assignees.1.login", "issue.assignees.2.login", "pull_request.assignees.0.login"],
  ...["issue.fields.reporter.name", "issue.fields.reporter.displayName", "issue.fields.assignee.name"],
  ...["comment.author.name", "comment.author.displayName", "user.accountId", "comment.author.accountId"],
  ...["issue.fields.reporter.accountId", "issue.fields.assignee.accountId"],
  ...["data.actor_detail.display_name", "activity.actor.display_name"],
].map(pathOf);

/** Other names of the project of an event, from its payload. */
export const projectNames = (payload: unknown): string[] => namesAt(projects, payload);

/** Logins and other names of those who take part in the issue of an event, from its payload, except bots and apps. */
export const participants = (payload: unknown): string[] =>
  namesAt(
    people.filter((path) => !isBot(valueAt(path.slice(0, -1), payload))),
    payload,
  );

/** Whether the platform says that an account is no person: GitHub's `type`, Jira's `accountType`. */
function isBot(account: unknown): boolean {
  const { type, accountType } = (account ?? {}) as Record<string, unknown>;
  return [type, accountType].some((kind) => typeof kind === "string" && /^(?:bot|app)$/i.test(kind));
}

function pathOf(path: string): string[] {
  return path.split(".");
}

function namesAt(paths: readonly (readonly string[])[], payload: unknown): string[] {
  return paths.flatMap((path) => {
    const value = valueAt(path, payload);
    return (typeof value === "string" && value !== "") || typeof value === "number" ? [String(value)] : [];
  });
}

const valueAt = (path: readonly string[], payload: unknown): unknown =>
  path.reduce<unknown>((at, member) => (at as Record<string, unknown> | null | undefined)?.[member], payload);
