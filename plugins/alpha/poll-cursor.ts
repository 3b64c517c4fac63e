import { z } from "zod";

/** How far one list has been read. Times are ISO 8601 without fractions, as the platform writes them. */
const position = z.object({
  /** What was created or closed after this has not been told of: the end of the last poll that came to the end. */
  from: z.string(),
  /** `updated_at` of the last item read, and what was read of that very second. */
  at: z.string(),
  seen: z.array(z.string()),
  /** The page to go on with; over 1 only where one second fills more than a page. */
  page: z.number().int().positive(),
});
export type Position = z.output<typeof position>;
const cursor = z.object({ v: z.literal(1), issues: position, comments: position });
export type Cursor = z.output<typeof cursor>;

/** The cursor of an earlier poll; one that cannot be read starts again at `since`, for what comes twice is known by its key. */
export function cursorOf(text: string | null, since: string): Cursor {
  try {
    return cursor.parse(JSON.parse(text ?? ""));
  } catch {
    const start = { from: seconds(since), at: seconds(since), seen: [], page: 1 };
    return { v: 1, issues: start, comments: start };
  }
}

export function seconds(time: string, shift = 0): string {
  const ms = Date.parse(time);
  return `${new Date((Number.isNaN(ms) ? 0 : ms) + shift * 1000).toISOString().slice(0, 19)}Z`;
}
