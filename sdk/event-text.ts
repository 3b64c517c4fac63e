/** Puts a text on one line. A name with line breaks could otherwise be mistaken for a part of the event's text. */
export const oneLine = (text: string): string => text.replace(/\s+/g, " ");

/** Formats the known facts about a subject as a Markdown list, one line each: `- State: open`. Entries that are null are left out. */
export const factList = (entries: readonly (readonly [name: string, value: string | null])[]): string =>
  entries.flatMap(([name, value]) => (value === null ? [] : `- ${name}: ${oneLine(value)}`)).join("\n");

/** Joins the parts of a Markdown text with an empty line between them. Empty parts are left out. */
export const sections = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");
