import { PluginError } from "@signalbox/sdk";

const key = /^[A-Za-z][A-Za-z0-9_]{0,99}-\d{1,15}$/;

export const isKey = (value: unknown): value is string => typeof value === "string" && key.test(value);

/** The project of a webhook that names its issue by id only. */
export const anyProject = "-";
export const isIssueId = (value: string): boolean => /^\d{1,15}$/.test(value);

/** `PROJ` of `PROJ-12`. */
export const projectOfKey = (issue: string): string => issue.slice(0, issue.lastIndexOf("-")).toUpperCase();

/** Accepts `PROJ-12`, or 12 with the project `PROJ`; with the project `-` the number is the id of an issue. Throws `invalid_input`. */
export function keyOf(issue: string | number, project?: string): string {
  const text = String(issue).trim().replace(/^#/, "");
  if (project?.trim() === anyProject && isIssueId(text)) return text;
  const whole = /^\d{1,15}$/.test(text) && project !== undefined ? `${project.trim()}-${text}` : text;
  if (isKey(whole)) return whole.toUpperCase();
  throw new PluginError(
    "invalid_input",
    `issue: must be a key such as "PROJ-12", or a number with a project; it is ${JSON.stringify(text.slice(0, 200))}`,
  );
}

/** The key of a project, `PROJ`. Throws `invalid_input`. */
export function projectKeyOf(project: string): string {
  const text = project.trim();
  if (/^[A-Za-z][A-Za-z0-9_]{0,99}$/.test(text)) return text.toUpperCase();
  throw new PluginError("invalid_input", `project: must be the key of a project, such as "PROJ"; it is ${JSON.stringify(text)}`);
}
