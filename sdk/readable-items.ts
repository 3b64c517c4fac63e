import { z } from "zod";
import { sanitizeText, timestampAt, truncate, valueAt } from "./json.ts";
import { hasInvisibleMarker, hasMarker } from "./marker.ts";
import type { UnreadableItem } from "./source.ts";

/** Members that name an item on a platform, the best known first. */
const names = ["number", "iid", "key", "identifier", "id"] as const;

/**
 * Reads the items of a list one by one, so that one malformed item does not hide the others. Adds each item that does not match the
 * schema to `unreadable`, and `list` itself if it is not a list. `what`: what the list holds, for example `issues`.
 */
export function readableItems<T>(schema: z.ZodType<T>, list: unknown, what: string, unreadable: UnreadableItem[]): T[] {
  if (!Array.isArray(list)) {
    unreadable.push({ item: what, reason: `must be a list; received ${typeName(list)}` });
    return [];
  }
  return list.flatMap((item: unknown) => {
    const parsed = schema.safeParse(item);
    if (parsed.success) return [parsed.data];
    const { path, message } = parsed.error.issues[0] ?? { path: [], message: "is not as expected" };
    const reason = path.length > 0 ? `${path.join(".")}: ${message}` : message;
    unreadable.push({ item: `${what}: ${nameOf(item)}`, reason: truncate(sanitizeText(reason), 500) });
    return [];
  });
}

/**
 * The schema of an item that is null if it is malformed, so that it does not hide the others of its list. Other code looks for a comment
 * of ours in some lists: there, a malformed item that may be ours must fail the whole list, or the comment would be posted twice. So
 * give `isForeign`, which says whether a malformed item is certainly not ours.
 */
export const itemOrNull = <T>(schema: z.ZodType<T>, isForeign: (item: unknown) => boolean = () => true) =>
  z.unknown().transform((item, context): T | null => {
    const parsed = schema.safeParse(item);
    if (parsed.success) return parsed.data;
    if (isForeign(item)) return null;
    const { path, message } = parsed.error.issues[0] ?? { path: [], message: "is not as expected" };
    context.addIssue({ code: "custom", path: [...path], message });
    return z.NEVER;
  });

/**
 * Whether a malformed comment is certainly not ours: its text can be read and has no marker, or it has none. If its text is missing or
 * no string, this cannot be known.
 */
export function isUnmarked(comment: unknown): boolean {
  const body = valueAt(comment, "body");
  if (comment === null || body === null) return true;
  return typeof body === "string" && !hasMarker(body) && !hasInvisibleMarker(body.trimStart());
}

const dayMs = 86_400_000;

/**
 * A time that `Date.parse` can read, at most a day in the future. A later one would become the position of the next poll, which would
 * find nothing.
 */
export const timeText = z
  .string()
  .refine((text) => timestampAt({ text }, "text") !== null, { error: "is not a time", abort: true })
  .refine((text) => Date.parse(text) < Date.now() + dayMs, "is in the future");

const typeName = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

function nameOf(item: unknown): string {
  const name = names
    .map((member) => valueAt(item, member))
    .find((value) => (typeof value === "string" && value !== "") || typeof value === "number" || typeof value === "bigint");
  return name === undefined ? typeName(item) : truncate(sanitizeText(String(name)), 100);
}
