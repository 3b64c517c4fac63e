import { createHash } from "node:crypto";
import { sanitizeText } from "./json.ts";

const maxLength = 200;

/**
 * An id of at most 200 characters, for example of a delivery. The digest of a longer one takes its place, so that the same id is still
 * recognised, and two that begin alike remain different. `null` if there is none.
 */
export function shortId(id: string | null): string | null {
  if (id === null) return null;
  return id.length <= maxLength ? sanitizeText(id) : `sha256:${createHash("sha256").update(id).digest("hex")}`;
}
