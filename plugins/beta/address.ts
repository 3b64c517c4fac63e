import { PluginError, type Subject } from "@signalbox/sdk";

const path = /^[A-Za-z0-9_.-]{1,255}(?:\/[A-Za-z0-9_.-]{1,255}){1,20}$/;

/** `group/project` with any number of subgroups, or the number of a project. */
export const isProject = (name: unknown): name is string =>
  typeof name === "string" &&
  (/^\d{1,15}$/.test(name) || (path.test(name) && !name.split("/").some((part) => part === "." || part === "..")));

/** A group, with any number of parents. */
export const isGroup = (name: unknown): name is string =>
  typeof name === "string" &&
  name.length <= 1000 &&
  /^[A-Za-z0-9_.-]{1,255}(?:\/[A-Za-z0-9_.-]{1,255}){0,20}$/.test(name) &&
  !name.split("/").some((part) => part === "." || part === "..");

export const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

export interface Address {
  readonly project: string;
  /** Issues and merge requests of a project are numbered apart. */
  readonly kind: "issues" | "merge_requests";
  readonly iid: number;
}

/** The `issue` that the tools take, as the platform writes it: `#12` is an issue, `!12` a merge request. */
export const issueOf = (kind: Address["kind"], iid: number): string => `${kind === "merge_requests" ? "!" : ""}${iid}`;

/** Accepts `12`, `#12` or `!12` with a project, or `group/project#12`, which overrides the project. Throws `invalid_input`. */
export function addressOf(issue: string | number, project: string | undefined): Address {
  const match = /^([^#!\s]+(?=[#!]))?([#!])?(\d{1,15})$/.exec(String(issue).trim());
  const iid = Number(match?.[3] ?? 0);
  if (!match || !isNumber(iid)) {
    const shown = JSON.stringify(String(issue).slice(0, 200));
    throw new PluginError(
      "invalid_input",
      `issue: must be 12, "#12", "!12" for a merge request, or "group/project#12"; it is ${shown}`,
    );
  }
  return { project: projectOf(match[1] ?? project), kind: match[2] === "!" ? "merge_requests" : "issues", iid };
}

export function projectOf(project: string | undefined): string {
  if (project === undefined) throw new PluginError("invalid_input", 'project: is required; it must be "group/project"');
  const name = project.trim();
  if (isProject(name)) return name;
  throw new PluginError("invalid_input", `project: must be "group/project"; it is ${JSON.stringify(project.slice(0, 200))}`);
}

export const addressOfSubject = (subject: Subject): Address => addressOf(subject.issue, subject.project);
