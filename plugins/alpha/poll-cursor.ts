import { z } from "zod";

/** Position in one list. Times are ISO 8601 without fractions, as the platform writes them. */
const position = z.object({
  /** Events created or closed after this time have not been reported: the end of the last complete poll. */
  from: z.string(),
  /** `updated_at` of the last item read, and the items already read in that second. */
  at: z.string(),
  seen: z.array(z.string()),
  /** The next page; above 1 only if one second fills more than a page. */
  page: z.number().int().positive(),
});
export type Position = z.output<typeof position>;
const cursorShape = z.object({ v: z.literal(1), issues: position, comments: position });
type Cursor = z.output<typeof cursorShape>;

/** Parses the cursor of an earlier poll. An invalid one restarts at `since`: events that come twice have the same key. */
export function cursorOf(text: string | null, since: string): Cursor {
  try {
    return cursorShape.parse(JSON.parse(text ?? ""));
  } catch {
    const start = { from: seconds(since), at: seconds(since), seen: [], page: 1 };
    return { v: 1, issues: start, comments: start };
  }
}

export function seconds(time: string, shift = 0): string {
  const ms = Date.parse(time);
  return `${new Date((Number.isNaN(ms) ? 0 : ms) + shift * 1000).toISOString().slice(0, 19)}Z`;
}
