import { stringAt, timestampAt, valueAt } from "@signalbox/sdk";
import { isKey } from "./address.ts";

/**
 * Names a change. The webhook and the poll of one change have the same key. Issue keys are unique within one site
 * only, so the key begins with the site's host.
 */
export function changeKey(event: string, payload: unknown): string | null {
  const key = valueAt(payload, "issue", "key");
  if (!isKey(key)) return null;
  const name = `${siteOf(payload)}${key.toUpperCase()}`;
  const comment = stringAt(payload, ["comment", "id"], 50);
  if (event === "comment_created") return comment && `${name}/comment/${comment}`;
  if (event === "gamma:issue_created") return `${name}/created`;
  if (event !== "gamma:issue_updated") return null;
  const number = valueAt(payload, "changelog", "id");
  const change = typeof number === "number" ? String(number) : stringAt(payload, ["changelog", "id"], 50);
  if (change !== null) return `${name}/change/${change}`;
  const when = timestampAt(payload, "issue", "fields", "updated");
  return when && `${name}/updated@${when.slice(0, 19)}`;
}

function siteOf(payload: unknown): string {
  const self = stringAt(payload, ["issue", "self"], 2000);
  return self !== null && URL.canParse(self) ? `${new URL(self).host}/` : "";
}
