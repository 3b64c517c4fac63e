import { timestampAt, valueAt } from "@signalbox/sdk";
import { isNumber, isProject } from "./address.ts";

/** Names a change. The webhook and the poll of one change have the same key. Times have a resolution of a second. */
export function changeKey(hook: string, action: string | null, payload: unknown): string | null {
  const path = valueAt(payload, "project", "path_with_namespace");
  const id = valueAt(payload, "object_attributes", "id");
  if (!isProject(path)) return null;
  const event = hook.replace(/^Confidential /, "");
  const project = path.toLowerCase();
  if (event === "Note Hook") return isNumber(id) && action !== "update" ? `note/${project}/${id}` : null;
  const item = valueAt(payload, "object_attributes");
  const iid = valueAt(item, "iid");
  if ((event !== "Issue Hook" && event !== "Merge Request Hook") || !isNumber(iid) || action === null) return null;
  const name = event === "Issue Hook" ? `issue/${project}#${iid}` : `merge_request/${project}!${iid}`;
  if (action === "open") return `${name}/open`;
  const when = timestampAt(item, "updated_at")?.slice(0, 19);
  return when === undefined ? null : `${name}/${action === "close" || action === "merge" ? action : "changed"}@${when}`;
}
