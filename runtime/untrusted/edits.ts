/** Members in which platforms name the time when a text was written, and when it was last edited. */
const writtenAt = ["created_at", "createdAt", "created"];
const editedAt = ["edited_at", "last_edited_at", "lastEditedAt", "updated_at", "updatedAt", "updated"];
const remark = "remark_of_signalbox";

/**
 * The member that marks an object that was edited or written after `since`, because its author may have changed it after seeing
 * that an agent is working. Only an object with times has one.
 */
export function editNote(value: object, since: number | null): [name: string, text: string] | null {
  if (since === null) return null;
  const written = timeOf(value, writtenAt);
  if (isLater(written, since)) return [remark, writtenLaterNote];
  const edited = timeOf(value, editedAt);
  return isLater(edited, since) && edited !== written ? [remark, editedLaterNote] : null;
}

export const writtenLaterNote = "Written after the event that started this run.";
export const editedLaterNote = "Edited after the event that started this run: the text may have been different at that time.";

/** Maximum difference between the clocks of platforms, and between the times of a webhook and its object, in milliseconds. */
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
