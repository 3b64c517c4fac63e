import { sanitizeText, valueAt } from "@signalbox/sdk";

/** Longest beginning of a comment that is read, in characters. */
const longest = 2_000;

/** The beginning of a comment as plain text: wiki markup as it is, of a document its first paragraph. */
export function beginningOf(body: unknown): string | null {
  if (typeof body === "string") return sanitizeText(body.slice(0, longest));
  const nodes = valueAt(body, "content", "0", "content");
  if (!Array.isArray(nodes)) return null;
  const parts = nodes.slice(0, 50).map((node) => valueAt(node, "text") ?? (valueAt(node, "type") === "hardBreak" ? "\n" : ""));
  return sanitizeText(parts.join("").slice(0, longest));
}

/** Whether the issue was deleted, or moved to a status of the category "done". */
export function isClosed(event: string, payload: unknown): boolean {
  if (event === "gamma:issue_deleted") return true;
  if (event !== "gamma:issue_updated") return false;
  const items = valueAt(payload, "changelog", "items");
  const isMoved = Array.isArray(items) && items.slice(0, 1000).some((item) => valueAt(item, "field") === "status");
  return isMoved && valueAt(payload, "issue", "fields", "status", "statusCategory", "key") === "done";
}
