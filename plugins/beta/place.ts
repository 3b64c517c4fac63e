import { PluginError, type Subject, stringAt, valueAt } from "@signalbox/sdk";
import { addressOf, isGroup, isNumber, isProject, projectOf } from "./address.ts";

/** Where a note is written. `thread`: the discussion that it answers. */
export type Place = { readonly thread: string | null } & (
  | { readonly kind: "issues" | "merge_requests"; readonly project: string; readonly iid: number }
  | { readonly kind: "snippets"; readonly project: string; readonly id: number }
  | { readonly kind: "commits"; readonly project: string; readonly sha: string }
  | { readonly kind: "epics"; readonly group: string; readonly iid: number }
);

const isSha = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{7,64}$/i.test(value);
const isDiscussion = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{8,64}$/i.test(value);

/** The path of the event's project. Old payloads of merge requests contain only the target project. */
export function projectIn(payload: unknown): string | null {
  const target = valueAt(payload, "object_attributes", "target");
  const paths = [valueAt(payload, "project", "path_with_namespace"), valueAt(target, "path_with_namespace"), pathIn(target)];
  const path = paths.find((one) => one !== undefined && one !== null);
  if (path !== undefined) return isProject(path) ? path : null;
  const ids = [
    valueAt(payload, "project", "id"),
    valueAt(payload, "project_id"),
    valueAt(payload, "object_attributes", "target_project_id"),
  ];
  const id = ids.find(isNumber);
  return id === undefined ? null : String(id);
}

/** Older servers name the project by its URLs only. */
function pathIn(target: unknown): string | undefined {
  for (const member of ["web_url", "http_url", "git_http_url"]) {
    const url = stringAt(target, [member], 1000);
    const path = url === null ? undefined : /^https?:\/\/[^/]+\/(.+?)(?:\.git)?\/?$/.exec(url)?.[1];
    if (path !== undefined && isProject(path)) return path;
  }
  return undefined;
}

/** The group of an epic: by its path, or by the epic's URL. */
export function groupIn(payload: unknown, epic: unknown): string | null {
  const url = stringAt(epic, ["url"], 2000) ?? "";
  const found = [
    valueAt(payload, "group", "full_path"),
    valueAt(payload, "group", "group_path"),
    /\/groups\/([^?#]+?)\/-\/(?:epics|work_items)\/\d+/.exec(url)?.[1],
  ];
  return found.find(isGroup) ?? null;
}

/** An epic is a work item of a group: it has no project. */
export const isEpic = (item: unknown): boolean =>
  valueAt(item, "type") === "Epic" || /\/groups\/[^?#]+?\/-\/(?:epics|work_items)\//.test(stringAt(item, ["url"], 2000) ?? "");

/**
 * The subject of an event, as the platform writes it: `12`, `!12`, `$12` for a snippet, `&12` for an epic of a group, `@<sha>`
 * for a commit.
 */
export function subjectOf(event: string, payload: unknown): Subject | null {
  const item = valueAt(payload, "object_attributes");
  const isItem = /^(?:Confidential )?Issue Hook$/.test(event);
  if (isItem && isEpic(item)) return epic(payload, item);
  const project = projectIn(payload);
  const of = (sign: string, number: unknown): Subject | null =>
    project !== null && isNumber(number) ? { project, issue: `${sign}${number}` } : null;
  if (isItem) return of("", valueAt(item, "iid"));
  if (event === "Merge Request Hook") return of("!", valueAt(item, "iid"));
  if (isEpic(valueAt(payload, "issue"))) return epic(payload, valueAt(payload, "issue"));
  if (valueAt(payload, "epic") !== undefined) return epic(payload, valueAt(payload, "epic"));
  const found = of("", valueAt(payload, "issue", "iid")) ?? of("!", valueAt(payload, "merge_request", "iid"));
  if (found || !event.endsWith("Note Hook")) return found;
  const commit = valueAt(payload, "commit", "id") ?? valueAt(item, "commit_id");
  if (valueAt(item, "noteable_type") === "Commit")
    return project !== null && isSha(commit) ? { project, issue: `@${commit}` } : null;
  return of("$", valueAt(payload, "snippet", "id"));
}

function epic(payload: unknown, item: unknown): Subject | null {
  const [project, iid] = [groupIn(payload, item), valueAt(item, "iid")];
  return project !== null && isNumber(iid) ? { project, issue: `&${iid}` } : null;
}

/** The title of what `subjectOf` names, where the payload has it. */
export function titleOf(event: string, payload: unknown): string | null {
  const isItself = /^(?:Confidential )?Issue Hook$|^Merge Request Hook$/.test(event);
  const members = isItself ? ["object_attributes"] : ["issue", "epic", "merge_request", "snippet"];
  return members.map((name) => stringAt(payload, [name, "title"])).find((title) => title !== null) ?? null;
}

/** The discussion of a note, if people see it as a thread. */
export function threadOf(event: string, payload: unknown): string | null {
  const note = valueAt(payload, "object_attributes");
  const isThread = ["DiffNote", "DiscussionNote", "LegacyDiffNote"].includes(stringAt(note, ["type"], 100) ?? "");
  const id = valueAt(note, "discussion_id");
  return event.endsWith("Note Hook") && isThread && isDiscussion(id) ? id : null;
}

/**
 * Whether only members of the project can see the subject of an event: an internal note, a reaction to one, or a confidential
 * issue.
 */
export function isPrivate(event: string, payload: unknown): boolean {
  if (event.startsWith("Confidential ")) return true;
  const item = valueAt(payload, "object_attributes");
  if (stringAt(payload, ["event_type"], 100)?.startsWith("confidential_")) return true;
  return [item, valueAt(payload, "issue"), valueAt(payload, "epic"), valueAt(payload, "note")].some(
    (one) => valueAt(one, "confidential") === true || valueAt(one, "internal") === true,
  );
}

/** Where an answer belongs. Throws `invalid_input`. */
export function placeOf({ project, issue }: Subject, thread: string | null = null): Place {
  if (thread !== null && !isDiscussion(thread))
    throw new PluginError("invalid_input", "the thread is not the id of a discussion");
  const [, path, sign, name = ""] = /^([^#!$&@\s]+(?=[$&@]))?([$&@])([0-9a-f]{1,64})$/i.exec(issue.trim()) ?? [];
  const number = Number(name);
  if (sign === "@" && isSha(name)) return { kind: "commits", project: projectOf(path ?? project), sha: name, thread };
  if (sign === "$" && isNumber(number)) return { kind: "snippets", project: projectOf(path ?? project), id: number, thread };
  if (sign === "&" && isNumber(number)) {
    const group = path ?? project;
    if (!isGroup(group)) throw new PluginError("invalid_input", "an epic belongs to a group: name it as project");
    return { kind: "epics", group, iid: number, thread };
  }
  return { ...addressOf(issue, project), thread };
}
