import { stringAt, timestampAt, valueAt } from "@signalbox/sdk";
import { isKey } from "./address.ts";

/**
 * Names a change. The webhook and the poll of one change have the same key, and so do the two webhooks by which Server
 * reports one comment. Keys and ids are unique within one site only, so the key begins with the site's host.
 */
export function changeKey(event: string, payload: unknown): string | null {
  if (event === "comment_created") return commentKey(payload);
  const name = nameOf(payload);
  if (name === null) return null;
  if (event === "gamma:issue_created") return `${name}/created`;
  if (event !== "gamma:issue_updated") return null;
  const number = valueAt(payload, "changelog", "id");
  const change = typeof number === "number" ? String(number) : stringAt(payload, ["changelog", "id"], 50);
  if (change !== null) return `${name}/change/${change}`;
  const when = timestampAt(payload, "issue", "fields", "updated");
  return when && `${name}/updated@${when.slice(0, 19)}`;
}

function nameOf(payload: unknown): string | null {
  const key = valueAt(payload, "issue", "key");
  return isKey(key) ? `${siteOf(payload, "issue")}${key.toUpperCase()}` : null;
}

/** Not every webhook of a comment names its issue. */
function commentKey(payload: unknown): string | null {
  const [id, site, name] = [stringAt(payload, ["comment", "id"], 50), siteOf(payload, "comment"), nameOf(payload)];
  if (id === null) return null;
  return site === "" ? name && `${name}/comment/${id}` : `${site}comment/${id}`;
}

function siteOf(payload: unknown, thing: "issue" | "comment"): string {
  const self = stringAt(payload, [thing, "self"], 2000);
  return self !== null && URL.canParse(self) ? `${new URL(self).host}/` : "";
}
