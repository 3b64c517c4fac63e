/** What differs between errors with the same cause: ids, the address of a request, and numbers that are no status. */
const varyingPart = /[0-9a-f]{8}-[0-9a-f-]{27}|(?<=\b(?:GET|POST|PUT|PATCH|DELETE) )[^\s:]+|(?<!answered \d*)\d+/g;

/** The text of an error without what differs between errors with the same cause, so that these have the same text. */
export const failureKind = (error: string): string => error.replace(varyingPart, "·");

/** Words of an error that all errors of its kind contain: its beginning, up to the first difference. */
export function commonWords(error: string): string {
  const [start = ""] = failureKind(error).split("·");
  return (start.length < 12 ? error : start).slice(0, 100).trim();
}
