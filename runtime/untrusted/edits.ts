/** Members by which platforms say when a text was written, and when it was last edited. */
const writtenAt = ["created_at", "createdAt", "created"];
const editedAt = ["edited_at", "last_edited_at", "lastEditedAt", "updated_at", "updatedAt", "updated"];
const remark = "remark_of_signalbox";

/**
 * The value, with a remark beside every text that was edited or written after `since`: its author may have changed it once they
 * saw that an agent works. Only what names its times gets one.
 */
export function annotateEdits(value: unknown, since: number | null, depth = 0): unknown {
  if (since === null || typeof value !== "object" || value === null || depth > 20) return value;
  if (Array.isArray(value)) return value.map((one) => annotateEdits(one, since, depth + 1));
  const members = Object.entries(value).map(([name, member]) => [name, annotateEdits(member, since, depth + 1)] as const);
  const written = timeOf(value, writtenAt);
  const edited = timeOf(value, editedAt);
  const said = isLater(written, since) ? writtenLater : isLater(edited, since) && edited !== written ? editedLater : null;
  return Object.fromEntries(said === null ? members : [[remark, said], ...members]);
}

export const writtenLater = "Written after the event that started this run.";
export const editedLater = "Edited after the event that started this run: the text may have been different at that time.";

/** Clocks of platforms, and of a webhook and its object, differ by this much, milliseconds. */
const tolerance = 2_000;
/** Whether something happened after the event of a run. */
export const isLater = (time: number | null, since: number | null): boolean =>
  time !== null && since !== null && time > since + tolerance;

function timeOf(value: object, names: readonly string[]): number | null {
  const name = names.find((one) => Object.hasOwn(value, one));
  const text = name === undefined ? null : (value as Record<string, unknown>)[name];
  const time = typeof text === "string" && text.length <= 40 ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}
