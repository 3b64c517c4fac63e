import { PluginError } from "@signalbox/sdk";

/** The key of a team, which people see before the number of an issue: ENG in ENG-42. */
const team = /^[A-Za-z][A-Za-z0-9]{0,9}$/;
const identifier = /^([A-Za-z][A-Za-z0-9]{0,9})-([1-9]\d{0,8})$/;

export const isIdentifier = (value: string): boolean => identifier.test(value);

/** The key of a team. Throws `invalid_input`. */
export function teamOf(project: string | undefined): string {
  const key = project?.trim() ?? "";
  if (team.test(key)) return key.toUpperCase();
  throw new PluginError(
    "invalid_input",
    `project: must be the key of a team such as ENG; it is ${JSON.stringify(key.slice(0, 200))}`,
  );
}

/** The identifier of an issue: ENG-42, or 42 with the team as `project`. Throws `invalid_input`. */
export function issueOf(issue: string | number, project?: string): string {
  const text = String(issue).trim().replace(/^#/, "");
  if (identifier.test(text)) return text.toUpperCase();
  if (/^[1-9]\d{0,8}$/.test(text) && project !== undefined) return `${teamOf(project)}-${text}`;
  throw new PluginError(
    "invalid_input",
    `issue: must be an identifier such as ENG-42, or a number with a project; it is ${JSON.stringify(text.slice(0, 200))}`,
  );
}
