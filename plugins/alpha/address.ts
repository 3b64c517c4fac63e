import { PluginError } from "@signalbox/sdk";

const repository = /^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9_.-]{1,100}$/;

/** Names become parts of request paths, and `.` or `..` would address another resource. */
export const isProject = (name: unknown): name is string =>
  typeof name === "string" && repository.test(name) && !name.split("/").some((part) => part === "." || part === "..");

export const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

export interface Repository {
  readonly owner: string;
  readonly repo: string;
}
export interface Address extends Repository {
  readonly issue_number: number;
}

/** Throws `invalid_input` if the project is missing or is not `owner/repo`. */
export function repositoryOf(project: string | undefined): Repository {
  if (project === undefined) throw new PluginError("invalid_input", 'project: is required; it must be "owner/repo"');
  const name = project.trim();
  if (!isProject(name)) {
    throw new PluginError("invalid_input", `project: must be "owner/repo"; it is ${JSON.stringify(project.slice(0, 200))}`);
  }
  const [owner = "", repo = ""] = name.split("/");
  return { owner, repo };
}

/** Accepts `12`, `#12` or 12 with a project, or `owner/repo#12`, which overrides the project. Throws `invalid_input`. */
export function addressOf(issue: string | number, project: string | undefined): Address {
  const match = /^(?:([^#\s]+)?#)?(\d{1,15})$/.exec(String(issue).trim());
  const issue_number = Number(match?.[2] ?? 0);
  if (!match || !isNumber(issue_number)) {
    throw new PluginError(
      "invalid_input",
      `issue: must be a number such as 12, "#12" or "owner/repo#12"; it is ${JSON.stringify(String(issue).slice(0, 200))}`,
    );
  }
  return { ...repositoryOf(match[1] ?? project), issue_number };
}
