import { PluginError, type Subject } from "@signalbox/sdk";

/** Whether a value can be the id of a project or issue, which are UUIDs. Refuses anything that could change the path of a request. */
export const isId = (value: unknown): value is string =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(value);

/** The project of a webhook that does not name it; the issue is then looked up in the whole workspace. */
export const anyProject = "-";

export interface Address {
  /** `null` if unknown. */
  readonly project: string | null;
  readonly issue: string;
}

/** Checks the ids of issue and project. Throws `invalid_input`. */
export function addressOf(issue: string | number, project: string | undefined): Address {
  const id = String(issue).trim();
  if (!isId(id)) throw wrong("issue: must be the id of an issue", id);
  const name = project?.trim();
  if (name === undefined || name === anyProject) return { project: null, issue: id };
  if (!isId(name)) throw wrong("project: must be the id of a project", name);
  return { project: name, issue: id };
}

const wrong = (what: string, text: string): PluginError =>
  new PluginError("invalid_input", `${what}, a UUID; it is ${JSON.stringify(text.slice(0, 200))}`);

export const addressOfSubject = (subject: Subject): Address => addressOf(subject.issue, subject.project);
