/** The text on one line. A name in an event's text that went on in another line could pass for a part of that text. */
export const oneLine = (text: string): string => text.replace(/\s+/g, " ");

/** What is known about a subject as a Markdown list, one line each: `- State: open`. Entries that are null are left out. */
export const factList = (entries: readonly (readonly [name: string, value: string | null])[]): string =>
  entries.flatMap(([name, value]) => (value === null ? [] : `- ${name}: ${oneLine(value)}`)).join("\n");

/** The parts of a Markdown text, with an empty line between them. Empty parts are left out. */
export const sections = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");
