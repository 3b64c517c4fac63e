import { timestampAt, valueAt } from "@signalbox/sdk";
import { isNumber, isProject } from "./address.ts";

/**
 * Names a change. The webhook and the poll of one change have the same key. Repository names are
 * case-insensitive, as they are on the platform.
 */
export function changeKey(event: string, action: string | null, payload: unknown): string | null {
  const repo = valueAt(payload, "repository", "full_name");
  if (!isProject(repo)) return null;
  const project = repo.toLowerCase();
  if (event === "issue_comment") {
    const id = valueAt(payload, "comment", "id");
    return action === "created" && isNumber(id) ? `issue_comment/created/${project}/${id}` : null;
  }
  if (event !== "issues" && event !== "pull_request") return null;
  const item = valueAt(payload, event === "issues" ? "issue" : "pull_request");
  const number = valueAt(item, "number");
  if (!isNumber(number) || action === null) return null;
  const name = `${project}#${number}`;
  if (action === "opened") return `${event}/opened/${name}`;
  const when = timestampAt(item, action === "closed" ? "closed_at" : "updated_at");
  // Of any other change, a poll sees only that it happened, and when.
  return when && `${event}/${action === "closed" ? "closed" : "changed"}/${name}@${when}`;
}
